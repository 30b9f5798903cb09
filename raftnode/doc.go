// Package raftnode makes a replicated state machine of storage.Store: it orders commands through raft, makes them
// durable, applies them, and proves reads.
//
// It promises:
//
//   - A command whose Propose returned a Result is on stable storage of a majority and applied here. One whose Propose
//     returned an error other than ErrOutcomeUnknown was not applied and never will be.
//   - ReadIndex returns after everything that was committed anywhere when it was called is applied here.
//     ReadIndexLeader adds that this member leads in a proof that began after the call.
//   - Leader tasks run only while this member leads and after the first entry of its term is applied. They are
//     cancelled with the leadership, waited for, and started anew in every term.
//   - A member whose disk hangs does not lead if the others can do without it: it hands over, and neither campaigns nor
//     gives a vote before its disk works again. It asks for votes only when its own is on its disk.
//   - A member behind the log is sent a snapshot; one is installed whole or not at all.
//   - A change of members whose call returned nil is applied here. One that a lost leader left half done is put in order
//     by the next. A removed member ends with ErrRemoved.
//   - A full disk refuses what makes the state grow and stops nothing else; a member whose state differs from that of a
//     quorum ends with ErrStateDiffers, and its directory is not opened again.
//   - After a crash at any moment Open finds every acknowledged command. A log that lost its end, or was cut past the
//     state machine, is refused by name.
//
// It needs: a data directory of its own, callbacks that do not block, and callers who accept that an error of the disk
// stops the member. Nothing is retried on a disk that failed once.
//
// The core (package core) is a step function. Here three goroutines drive it: the loop owns it and does no I/O, except
// that it reads some MiB of the log for a member that lacks old entries; one appends to the log (package raftlog), one
// applies to the store. A fourth runs the leader tasks.
//
// What else a member does is in rooms, which Node puts together and which do not know it: package identity says who it is and
// who the others are, membership changes them, snapshots makes checkpoints, cuts the log and sends and receives snapshots,
// health looks at the disk and compares states. The directory's layout is package datadir's.
package raftnode
