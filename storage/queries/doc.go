// Package queries keeps prepared queries: it creates, replaces and deletes them, and keeps their names unique. What a query means
// it does not know: its texts are filled in, and it is run, by the server.
//
// A query that is bound to a session is one of its objects. The session's end deletes it, in the revision of the end.
package queries
