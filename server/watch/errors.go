package watch

import "errors"

var (
	// ErrCompacted means that the history which a watch has not seen yet is forgotten.
	ErrCompacted = errors.New("history of the watch is compacted")
	// ErrFar means that a watch which is to stay near would have to read much of history.
	ErrFar = errors.New("watch is far behind")
	// ErrTooMany means that no more watches are taken.
	ErrTooMany = errors.New("too many watches")
	// ErrStopped means that the hub has stopped.
	ErrStopped = errors.New("hub has stopped")
)
