// Package durable makes files survive a crash of the machine.
package durable

import (
	"errors"
	"os"
)

// SyncDir makes the names in a directory durable: after it, a file that was made, renamed or removed there stays so after a crash. The file's own
// content needs a sync of its own, before.
func SyncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // The operator names the directory.
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
