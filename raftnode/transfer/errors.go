package transfer

import "errors"

var (
	// ErrBadChunk says that a chunk does not continue what was received, or was changed on its way.
	ErrBadChunk = errors.New("snapshot chunk does not fit")
	// ErrSuperseded says that another stream took the transfer over.
	ErrSuperseded = errors.New("another stream carries this snapshot on")
	// ErrIncomplete says that the sender ended the stream before the snapshot was complete.
	ErrIncomplete = errors.New("snapshot is incomplete")
	// ErrStalled says that the other side did nothing for too long.
	ErrStalled = errors.New("snapshot transfer stalled")
)
