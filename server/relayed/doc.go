// Package relayed bounds what another member relays. That member has refused what its client may not send; but a program that only
// pretends to be one has not, and what the leader orders, every member keeps.
//
// A message of these bounds says nothing of whether it makes sense: that is for the state machine. The package changes no message.
package relayed
