// Package turn is what a member does between the goroutines that wait for clocks, disks and peers: one turn of its loop,
// and what follows from work that the disk has done. It has no goroutine and no clock, and never blocks: raftnode runs it
// with goroutines, the simulator from its list of events.
package turn
