// Package requests remembers the results of commands that may be sent again: under the request ids of a session, in a window that the
// client moves on, and under idempotency keys. It forgets them when they are over or too many.
//
// It knows rows and what is in them, and of the command only what Command says.
package requests
