package datadir

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked says that another process uses the directory.
	ErrLocked = errors.New("data directory is in use by another process")
	// ErrNotDataDir says that the directory holds something, but not a member's data.
	ErrNotDataDir = errors.New("not a data directory of Tenure")
	// ErrDamaged says that a file of the directory cannot be read or contradicts another.
	ErrDamaged = errors.New("data directory is damaged")
)

// TooNewError says that a newer program wrote the directory.
type TooNewError struct {
	// Format is the directory's, Supported the newest this program knows.
	Format, Supported int
	// OldestBinary is the oldest version of the program that can use the directory.
	OldestBinary string
}

// Error names the version to use.
func (e *TooNewError) Error() string {
	return fmt.Sprintf("data directory has format %d, but this version supports formats up to %d: use tenure %s or newer",
		e.Format, e.Supported, e.OldestBinary)
}
