// Package cli is what every command of the program shares: streams, flags and settings, connections to members, exit codes, errors with
// what to do next, and how answers are printed.
//
// It promises that a call ends with --timeout, that a change whose answer was lost is repeated only if nothing can be applied twice, and
// that what comes from the network is printed so that a terminal does not obey it. It knows no command.
package cli
