// Package raftlog keeps the raft log on a Pebble instance of its own, with a synced write-ahead log.
//
// It promises: after Batch.Commit(true) returned nil, everything the batch and all batches before it wrote is there
// after a crash; entries are contiguous from FirstIndex to LastIndex; an append at an index that exists replaces that
// entry and all behind it in the same write; First, Last and recent terms and entries are answered from memory. Every
// other write is lost whole or kept whole, never in part.
//
// It needs: one writer of batches (the append work), and callers who never change an entry they handed over. Reads and
// TruncatePrefix may come from any goroutine.
//
// It never: retries a write or a sync. The first error is final: the log answers it to every later write, closes
// Failed, and the member has to stop. Pebble's own fatal errors end up there too; they never end the process.
package raftlog
