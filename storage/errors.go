package storage

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/backup"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
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
	ErrEntryOrder = layout.ErrEntryOrder
	// ErrUnknownFormat means that log or disk hold something this program does not know. It must stop, not guess.
	ErrUnknownFormat = layout.ErrUnknownFormat
	// ErrCorrupt means that a stored row cannot be what this program wrote, or that a file of the database is damaged or missing.
	ErrCorrupt = layout.ErrCorrupt
	// ErrBackground means that Pebble could not flush or compact.
	ErrBackground = errors.New("background work of the store failed")
	// ErrSessionID means that a text or byte string is not a session id.
	ErrSessionID = layout.ErrSessionID
	// ErrCompacted means that the history asked for is forgotten.
	ErrCompacted = errors.New("revision is compacted")
	// ErrBackup means that a file is no backup, or one that is damaged or cut off; the text says where.
	ErrBackup = backup.ErrDamaged
	// ErrFuture means that the history asked for is ahead of the store.
	ErrFuture = errors.New("revision is ahead of the store")
)

// FailureText returns what people read of a failure. It is no part of the state, and may be worded otherwise by another
// program.
func FailureText(f *storev1.Failure) string { return rule.Text(f) }
