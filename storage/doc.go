// Package storage is Tenure's replicated state machine on Pebble: sessions, keys, locks, their queues, and the history
// of what happened to them.
//
// # Contract
//
// It is a pure function. The same entries, in the same order, give the same state, results and events on every member,
// whatever the batch boundaries, restarts, entries applied again after a crash, or checkpoints between. So nothing in
// it looks at a clock, draws a random number, starts a goroutine that matters, walks over a map, computes with floats
// or reads the environment. What needs time is decided by the leader and arrives as a command that carries the term of
// the decision and names exactly what it ends; in an entry of another term it does nothing. Wall clocks are
// annotations: stored and shown, never compared.
//
//   - Apply is called by one goroutine, with entries that follow each other without a gap. One call is one Pebble batch,
//     with the applied record in it, and is not synced: the raft log is what is durable, and after a crash the entries
//     behind DurableApplied come again.
//   - A command takes effect whole or not at all. A broken rule is a value, the Failure of the Result; it never is a Go
//     error. An error of Apply means that the disk failed, or that the log holds what this program does not know. It is
//     final: the member must stop.
//   - The revision moves by one exactly when a command emits events; all of them share it. Failed commands
//     and compaction emit none.
//   - The checksum rolls over all entries and the rows that they wrote, in the order they were written. Members with the
//     same index have the same checksum, or one of them is broken.
//   - A Reader is one snapshot. It never waits for Apply, and Apply never waits for it.
//
// # Rows
//
// Package layout holds their keys. Every row begins with a byte that says what it is; holds and places of a lock, and the
// objects of a session, are rows of their own, so that a change costs the same however many there are beside it. The
// first bytes and the encoding of keys never change. Every record carries the format it was written in.
package storage
