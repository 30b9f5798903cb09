// Package pool keeps the catalog like the pool, and serves PoolService. A member's part in gossip is given to it.
//
// Task is a leader task: it has package reconcile decide, asks the voters over the connections between members, and proposes
// what follows, each command with its term and the id of the node, so that an old leader changes nothing. Peers asks the other
// members, and answers them, in every member. What this member alone has seen ends nothing.
package pool
