// Package core is consensus as a step function: events in, effects out, no goroutine, no clock, no I/O of its own.
//
// Core wraps raft's RawNode. Its caller feeds it events (time, messages, finished storage work, proposals, reads) and
// carries out the effects: append work, apply work, messages to peers, finished reads, dropped proposals, a change of
// leadership. Appender and Applier do the storage work, again without goroutines. Production drives the three from
// three goroutines; a simulator drives the same code from one, in an order it chooses.
//
// Core promises: no message that depends on a write leaves before that write is done, as long as its caller answers
// append work only after it is stable; reads confirmed by one round are those that arrived before the round began; a
// dropped proposal was not applied and never will be.
//
// It needs: one caller at a time; append work and apply work each done in order, each answered once; entries and
// messages never changed after they were handed over.
//
// It never blocks and reads no clock: time is the Tick event.
package core
