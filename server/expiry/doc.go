// Package expiry is the leader's clock: it decides when sessions, lock-delays, waits, join tokens and the freeze after a restore have
// run out, and says so by commands. State holds durations, never instants, so the instants live here, in the memory of the
// leader alone.
//
// It promises:
//
//   - Only the leader's monotonic clock counts. At the start of every term all timers start again in full.
//   - A session does not end earlier than its TTL after the last acknowledged renewal was received. In a quiet cluster it
//     ends no later than a second after that.
//   - A tick that comes more than 200 ms late means that this process stood still. Every timer is then extended by
//     that long, and for five more ticks nothing is ended that has not run out for as many: so renewals which waited
//     meanwhile are read before.
//   - Each tick takes at least 50 ms of every timer, however late it is. So all that has run out ends, though every tick
//     of a leader is late.
//   - A renewal that waits for its proof postpones the end. Once the end is proposed it is never taken back, and
//     renewals wait for its outcome.
//   - A token that ended is deleted a week after its end by the wall clocks of a majority of the members. No single clock decides,
//     and no right depends on it.
//   - Every command carries the term of the decision and names exactly what it ends, so an old leader ends nothing.
//
// It needs: outcomes in order from the apply goroutine (Publish), a snapshot of the state at the start of a term, and
// somebody who proposes. Publish never waits for any of the others.
//
// Renewing costs one store. A session sits in one bucket of a wheel, and is looked at only when that bucket is due; then
// it is ended or filed again. So the price of a renewal does not depend on the number of sessions.
package expiry
