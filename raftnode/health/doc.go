// Package health watches over a member: the room on its disk, writes that take too long, and whether its state is the one that
// the other members have.
//
// It promises: a member whose state differs from that of a quorum is stopped, and its directory is marked; while no quorum
// agrees nothing is written; while a disk of the cluster has too little room, what makes the state grow is refused and all else
// is taken. What an operator has to look at is an Alarm.
//
// It needs a data directory and connections to the other members. It judges by what they reported within some seconds, and
// never changes who they are.
package health
