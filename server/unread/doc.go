// Package unread bounds the answers that clients do not read.
//
// gRPC keeps an answer until its client takes it, long after the call has ended, and net/http one for each connection: without a
// bound, a client that reads nothing fills the memory with answers of a megabyte. So every answer counts for its caller
// from when it is there until it is sent, or its connection is closed. An answer beyond the caller's share is not given: a call that
// only reads is refused, and of one that may have changed something the connection is closed, because its outcome cannot be told.
//
// A stream waits until it is read: whoever sends on it goes on when little of what was sent before is left. Once its call has ended,
// what is left counts like an answer.
package unread
