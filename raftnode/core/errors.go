package core

import "errors"

var (
	// ErrNotLeader says that this member does not lead, so nothing was proposed.
	ErrNotLeader = errors.New("not the leader")
	// ErrNoLeader says that no leader is known.
	ErrNoLeader = errors.New("no leader")
	// ErrTransferring says that leadership is being handed over, so nothing was proposed.
	ErrTransferring = errors.New("leadership is being transferred")
	// ErrTooBusy says that too many bytes of proposals are not committed yet, so nothing was proposed.
	ErrTooBusy = errors.New("too many uncommitted proposals")
	// ErrDiskHangs says that this member cannot apply what was asked for, because its disk hangs.
	ErrDiskHangs = errors.New("the disk of this member hangs")
	// ErrConfChangePending says that another change of members is not finished.
	ErrConfChangePending = errors.New("another change of members is in progress")
	// ErrStopped says that the member is stopping.
	ErrStopped = errors.New("member is stopping")
)
