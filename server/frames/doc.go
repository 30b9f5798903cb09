// Package frames watches what comes over a connection of HTTP/2 that carries gRPC, before gRPC takes it: how many bytes of
// messages are there that are not complete, since when, how often the client took calls back, and how often it opened its windows.
//
// gRPC keeps what has come of a message until the rest is there, without a bound in all and without a deadline. So a
// connection is closed when it pins more than its caller's share, when a message stays incomplete for too long, and when a
// client begins calls only to take them back. It is closed plainly: its client sees a lost connection, and connects again.
// A client that opens its windows more often than it has read something, or takes back many calls at once, is read more slowly, and
// nothing else happens to it.
//
// The package follows lengths and types of frames only. What is not HTTP/2 is left to gRPC to refuse.
package frames
