// Package cluster serves operators: the status of a member and its problems, limits, compaction, backups, the members and who
// leads them.
//
// It promises that status is answered without a leader, from what the member has, and that every change is logged with where
// it came from. A backup gives up a client that does not read, because it holds a snapshot of the store.
package cluster
