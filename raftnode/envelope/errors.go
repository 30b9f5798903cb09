package envelope

import "errors"

var (
	// ErrTooLarge says that one command is larger than an entry may be.
	ErrTooLarge = errors.New("command is too large")
	// ErrOutcomeUnknown says that the command may or may not be applied, now or later. It comes with the reason.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)
