// Package watch is tenure watch: it prints changes, or runs a program for each of them.
package watch
