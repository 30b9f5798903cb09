// Package errfs makes operations on files fail, for tests: Pebble's errorfs, with files that are used again. errorfs leaves those out, and Pebble
// uses its write-ahead logs again, so that after a few megabytes no write of a log would fail any more.
package errfs

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Wrap returns a file system that asks an injector before each operation on fs and its files.
func Wrap(fs vfs.FS, injector errorfs.Injector) vfs.FS {
	return faulty{FS: errorfs.Wrap(fs, injector), injector: injector}
}

// faulty is a file system whose operations may fail.
type faulty struct {
	vfs.FS

	injector errorfs.Injector
}

// ReuseForWrite makes a file of another. Operations on it may fail as on any other file.
func (f faulty) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, category)
	if err != nil {
		return nil, err
	}
	return errorfs.WrapFile(file, named{f.injector, to}), nil
}

// Unwrap returns the file system below.
func (f faulty) Unwrap() vfs.FS { return f.FS }

// named names the file of each operation: errorfs gives no path for operations on a file that it did not open.
type named struct {
	errorfs.Injector

	path string
}

// MaybeError returns the error of an operation on the file.
func (n named) MaybeError(op errorfs.Op) error {
	op.Path = n.path
	return n.Injector.MaybeError(op)
}
