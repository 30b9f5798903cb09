// Package proposals carries the proposals of a member's clients to the leader over one stream: what comes while a message is
// under way goes into the next one, without a timer. So many clients of a follower cost few messages.
//
// Ledger is the follower's side as a value, Line drives it, and Serve is the leader's side.
package proposals
