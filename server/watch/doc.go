// Package watch tells many watchers what was applied. A watcher is a cursor into a shared history, not a queue.
//
// It promises, for every watch:
//
//   - Events come in order, each once, and nothing that was selected is missed. A revision is delivered whole, in one
//     batch.
//   - A batch says through which revision everything was delivered with it. A batch without events only says that.
//   - Memory does not grow with a watcher's delay. One that stands still delays nobody: when the ring in memory has moved
//     on, it reads history from the store at its own pace, and ends with ErrCompacted only if compaction passes it.
//   - A watcher sleeps until something it selected happens.
//
// It needs: outcomes in order from the apply goroutine (Publish, which never waits), a goroutine for Run, and the
// history of the store.
//
// Recent events are in a ring. Watches with the same selectors share a group. Run looks up the groups of each new event
// in an index, notes the event's place in the ring, and wakes the group once. All members of a group get the same
// batches as long as they keep up, so what a batch looks like on the wire is worked out once, in its Shared. A watch that can say
// whether it may send (Taker) has no batch made before it may, and while it sleeps one goroutine of its group offers it what comes.
package watch
