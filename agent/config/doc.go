// Package config reads the services and checks that files register: one file, or all files of a directory whose names
// end in .yaml, .yml or .json, in byte order of their names. It is strict and reads everything or nothing: an unknown
// setting, a repeated id or a value that is not allowed is a mistake, and every mistake is named with its file and line.
package config
