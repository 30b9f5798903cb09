package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// FS is a file system that a store can live on. Rooms above name it so, and need not know Pebble.
type FS = vfs.FS

// DiskFS returns the file system of the machine.
func DiskFS() FS { return vfs.Default }

// NewMemFS returns an empty file system in memory, for tests.
func NewMemFS() FS { return vfs.NewMem() }
