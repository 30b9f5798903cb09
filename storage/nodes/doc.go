// Package nodes does what commands say about nodes, services and checks: it registers and deletes them, keeps what sessions are
// bound to, and says which sessions end because of that. It writes rows and emits events of a command under way, and ends no
// session itself. Like all of apply it knows no clock, and what it does depends on the log alone.
package nodes
