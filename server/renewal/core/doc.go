// Package core is the state machine of renewals: (state, event, now) → (state, effects). It has no goroutine, clock,
// channel or lock, and calls nobody; whoever drives it guards it, performs the effects, and reports how they ended.
//
// Stream is the way of renewals from the client, or from another member, to their verdicts: received, proved, settled
// or parked while the session's end is under way, and answered; or, where another member leads, relayed. A single call
// is a stream of one renewal. Carrier is the way of relayed renewals to the leader: queued, sent, and decided; or sent
// again to the next leader. Judge is no part of them: it does the task Settle by the timers and the state, for all who drive streams.
//
// What was allowed before rights were taken away is not settled but decided about again by whoever drives the stream, and goes its way
// once more; the leader refuses it to another member, which does the same.
//
// It promises that each renewal that is admitted gets one verdict, unless its stream ends before; that none is settled
// but with a proof that was asked for after the renewal was admitted; that a renewal is released or settled, never kept
// marked by a stream that has ended; and that what waits in a stream or a carrier is bounded.
package core
