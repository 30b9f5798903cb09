// Package machine is the state machine: it applies committed entries to the rows of a store. It opens no database and commits nothing.
//
// The verbs of a command are divided into families, a type each. They share the command under way and call each other through it. A
// command takes effect whole or not at all; what breaks a rule is a Failure in its Result.
package machine
