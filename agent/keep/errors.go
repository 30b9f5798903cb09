package keep

import "errors"

// Conditions of a directory.
var (
	ErrLocked  = errors.New("another agent uses the directory")
	ErrDamaged = errors.New("damaged")
	ErrTooNew  = errors.New("written by a newer version")
)
