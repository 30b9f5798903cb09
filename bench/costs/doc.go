// Command costs names the slowest command that anybody can make. For every kind of command that the log knows it builds the
// dearest ones that a client can bring about within the default limits, with keys, owners, names and reasons as long as they may
// be, applies each to copies of a store, and prints what it took, the slowest first.
//
// Like the rest of bench it reports and does not judge: a command beyond its bound is marked, and fails nothing.
package main
