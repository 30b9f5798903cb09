// Package reconcile decides what the leader makes of its pool: which nodes are registered, and what their check liveness says.
// It is a value that takes events and returns effects, with the time it is told; it has no goroutine, no clock and no channel.
//
// It promises:
//
//   - A node turns critical only after a majority of all voters said that it has failed. What the leader alone sees ends no session.
//   - A node that is alive again passes at once, unless it failed more than once in ten minutes: then it must stay alive for
//     a while first, longer with each failure.
//   - A node that left, or has been gone for 72 hours of one term, loses its check liveness, and goes unless a session is bound to it.
//     What its agent registers anew after that stays: the agent syncs before the pool sees its new start, and may take no part in it.
//   - A node whose check liveness belongs to a program outside of the cluster is left alone.
//
// One State is for one term. At the start of a term nothing is known, and all that counts time begins again.
package reconcile
