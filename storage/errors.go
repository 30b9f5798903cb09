package storage

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Errors that Store and Reader return. None of them stands for a broken rule of a command: those are values in a
// Result.
var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrNotBootstrapped means that the store is empty and must be bootstrapped or seeded first.
	ErrNotBootstrapped = errors.New("store is not bootstrapped")
	// ErrBootstrapped means that the store already holds a state.
	ErrBootstrapped = errors.New("store is already bootstrapped")
	// ErrEntryOrder means that an entry does not follow the last applied one.
	ErrEntryOrder = errors.New("entry is out of order")
	// ErrUnknownFormat means that log or disk hold something this program does not know. It must stop, not guess.
	ErrUnknownFormat = errors.New("unknown format")
	// ErrCorrupt means that a stored row cannot be what this program wrote.
	ErrCorrupt = errors.New("stored row is corrupt")
	// ErrBackground means that Pebble could not flush or compact.
	ErrBackground = errors.New("background work of the store failed")
	// ErrSessionID means that a text or byte string is not a session id.
	ErrSessionID = errors.New("malformed session id")
	// ErrCompacted means that the history asked for is forgotten.
	ErrCompacted = errors.New("revision is compacted")
	// ErrBackup means that a file is no backup, or one that is damaged or cut off; the text says where.
	ErrBackup = errors.New("backup is damaged")
	// ErrFuture means that the history asked for is ahead of the store.
	ErrFuture = errors.New("revision is ahead of the store")
)

// ruleError carries a broken rule up to the end of its command, where it becomes the Failure of the Result.
type ruleError struct {
	failure *storev1.Failure
}

// Error returns the failure's text.
func (e *ruleError) Error() string { return FailureText(e.failure) }

// broken returns the error for a broken rule, with how exactly it was broken and what the text of that names: integers, names,
// sessions and modes.
func broken(reason storev1.FailureReason, detail storev1.FailureDetail, arguments ...any) *ruleError {
	f := &storev1.Failure{Reason: reason, Detail: detail}
	for _, a := range arguments {
		f.Arguments = append(f.Arguments, failureArgument(a))
	}
	return &ruleError{failure: f}
}

// failureOf returns the broken rule that err carries, or nil if err is something worse.
func failureOf(err error) *storev1.Failure {
	if rule, ok := errors.AsType[*ruleError](err); ok {
		return rule.failure
	}
	return nil
}
