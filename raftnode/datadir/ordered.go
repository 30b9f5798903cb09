package datadir

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// orderedFS makes a directory's entries durable before a marker in it is created. Pebble creates a MANIFEST, then the
// marker that names it, and syncs the directory once; a crash between can leave the marker without the MANIFEST where
// directory entries reach the disk in any order, and the database does not open any more (cockroachdb/pebble#5825,
// fixed after v2.1.7).
type orderedFS struct{ vfs.FS }

// markerPrefix begins the names of Pebble's markers.
const markerPrefix = "marker."

// Ordered wraps a file system so that Pebble's markers never outlive what they name.
func Ordered(fs vfs.FS) vfs.FS { return orderedFS{FS: fs} }

// Create syncs the directory first if the file is a marker.
func (o orderedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), markerPrefix) {
		if err := syncDir(o.FS, o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, category)
}

// Unwrap returns the file system underneath.
func (o orderedFS) Unwrap() vfs.FS { return o.FS }

// isDisk reports whether a file system is the machine's own.
func isDisk(fs vfs.FS) bool {
	for fs != nil {
		if fs == vfs.Default {
			return true
		}
		fs = fs.Unwrap()
	}
	return false
}
