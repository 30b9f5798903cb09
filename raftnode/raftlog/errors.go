package raftlog

import "errors"

var (
	// ErrCorrupt says that the log on disk contradicts itself: entries are missing in the middle or cannot be decoded.
	ErrCorrupt = errors.New("raft log is corrupt")
	// ErrFormat says that the log was written in a format this program does not know.
	ErrFormat = errors.New("unknown format of the raft log")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("raft log is closed")
	// ErrFailed says that an earlier write failed; nothing is written any more.
	ErrFailed = errors.New("raft log failed earlier")
	// ErrGap says that entries do not connect to the end of the log.
	ErrGap = errors.New("entries do not connect to the log")
)
