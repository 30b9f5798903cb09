// Package leader brings to the leader what only the leader can do: changes, renewals, its timers, and changes of members.
//
// A Relay knows the way to whoever leads, here or over the connections between members, and does a Call over it. It tries
// again while nothing was applied and there may be a leader soon. It promises that a change is made at most once unless it
// has an identity that allows a repeat, that an outcome nobody knows is called unknown, and that a change shows here before
// its caller hears of it.
//
// What comes from another member is never relayed again: who serves it has no Relay.
package leader
