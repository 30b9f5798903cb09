// Package membership changes the members of a cluster: it admits, promotes, replaces and removes them, hands the leadership
// over, and keeps raft's configuration and the replicated records of members in agreement.
//
// It promises: a change whose call returned nil is applied here. A change that would leave too few voters within reach is
// refused, unless it is forced. Changes are made one after another, and what a lost leader left half done is finished by the
// next one's Reconcile.
//
// It needs a member that leads: for its proposals, its proofs, and what its loop sees of the others (Peers, which the loop
// owns). It never touches the disk or the network.
package membership
