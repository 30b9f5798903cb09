package layout

import "errors"

// Errors of what log and disk hold, and of ids.
var (
	// ErrUnknownFormat means that log or disk hold something this program does not know. It must stop, not guess.
	ErrUnknownFormat = errors.New("unknown format")
	// ErrCorrupt means that a stored row cannot be what this program wrote, or that a file of the database is damaged or missing.
	ErrCorrupt = errors.New("stored state is corrupt")
	// ErrEntryOrder means that an entry does not follow the last applied one.
	ErrEntryOrder = errors.New("entry is out of order")
	// ErrSessionID means that a text or byte string is not a session id.
	ErrSessionID = errors.New("malformed session id")
)
