// Package datadir owns the layout of a member's data directory:
//
//	LOCK         held while a process uses the directory
//	FORMAT       JSON: format, oldest binary, cluster id, member id, incarnation, starts
//	GENESIS      how a cluster of several members began, kept by those that began it
//	JOIN         that the member was added to a cluster, until it has its state
//	MEND         what a member waits for whose log lost its end, while it does
//	DIFFERS      why the state must not be used again, once it was found to differ from that of a quorum
//	CURRENT      the name of the state machine in use
//	RESERVE      a file that only holds space, given up on a full disk
//	log/         raft log
//	sm-<epoch>/  state machine; a snapshot that is installed makes the next epoch
//	snap/        checkpoints kept for members that fell behind
//	snap-in/     snapshots being received
//
// It promises: one process at a time; every small file is replaced whole or not at all, and is on stable storage when a
// call returns; a directory written by a newer program is refused with the version to use.
//
// It never reads or writes the databases inside.
package datadir
