// Package check looks at what clients and members saw in a run, and says which promise was broken.
//
// A History is plain data. Any tier writes one (the simulator, real processes, clients in other languages) as JSON lines,
// one Record a line, and the same checkers read it:
//
//   - Linearizable: each key behaves like one register, and each exclusive lock like one holder, in an order that agrees
//     with real time. Outcomes that are unknown may or may not have happened. It trusts no revision.
//   - Replay: the events in the order of their revisions are applied to a naive model, which knows every rule of keys,
//     locks, queues, delays and sessions. Each answer must be what the model says at its revision, no revision may go
//     back in real time, and a change happens once, however often it was sent.
//   - Locks: fencing tokens rise over all locks, and no two clients believe at one time that they hold the same.
//   - TTL: no session ends before its TTL after the last acknowledged renewal was called, and none is renewed after.
//   - Watches: what a watch delivered is exactly its part of the events, whole revision by whole revision, once.
//
// Times are nanoseconds on one clock that is true for all, from any start. A checker needs no more than its own records:
// without events, Replay and Watches have nothing to say. Run says how much each of them looked at.
package check
