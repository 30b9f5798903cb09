//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris)

package datadir

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockAsItIs locks a file of the disk. Where this system cannot do so otherwise, that changes when the file was written last.
func lockAsItIs(name string) (io.Closer, error) { return vfs.Default.Lock(name) }
