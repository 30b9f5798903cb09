// Package session is the commands about sessions, and how other commands open one of their own.
//
// It promises that a session that a command opened has ended when the command ends by itself, and otherwise ends by its TTL.
package session
