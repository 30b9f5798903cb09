// Package manifest looks for damage in the MANIFEST of a Pebble database before the database is opened.
//
// Pebble v2.1.7 takes a record that it cannot read for the end of the MANIFEST, whatever comes after it. Without an error it
// opens an older version of the database, or an empty one, and removes all tables that this version does not name.
//
// # Contract
//
// Check reads and changes nothing. It finds what no crash can leave. Records are synced one after the other, and a record is
// appended when the one before it is durable. The marker that names a MANIFEST is moved when its first two records are
// durable, or its only one where Pebble makes a database. So a crash can tear the last record only, and none of those.
//
// A last record that cannot be read may be torn, or it was durable and is damaged: the file does not tell. Its reader has to
// compare what the database then holds with what else it knows, before it opens the database for writing.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

const (
	marker       = "manifest"
	formatMarker = "marker.format-version."
	// made is the MANIFEST with which Pebble makes a database. It comes into use with one record, every other one with two.
	made = "MANIFEST-000001"
)

// DamagedError says that a MANIFEST is damaged.
type DamagedError struct {
	// Path is the file's.
	Path string
	// Cause is what is wrong with it.
	Cause string
}

// Error names the file first.
func (e *DamagedError) Error() string { return e.Path + ": " + e.Cause }

// End is how a MANIFEST ends.
type End struct {
	// Path is the file's.
	Path string
	// Torn is set if what follows the last record cannot be read, from Offset on: a crash interrupted the write of a
	// record, or the last one is damaged.
	Torn   bool
	Offset int64
}

// Check looks whether the MANIFEST of the database in a directory can be read. A directory without a database is none, and
// has none. Damage is a DamagedError.
func Check(fs vfs.FS, dir string) (End, error) {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return End{}, nil
	}
	if err != nil {
		return End{}, fmt.Errorf("list %s: %w", dir, err)
	}
	name, err := atomicfs.ReadMarker(listed{fs, names}, dir, marker) // It only lists, so an error is that of a name.
	if err != nil {
		return End{}, &DamagedError{Path: dir, Cause: err.Error()}
	}
	if name == "" {
		return End{}, checkUnnamed(fs, dir, names)
	}
	end := End{Path: fs.PathJoin(dir, name)}
	r := reader{bad: -1, least: 2}
	if name == made {
		r.least = 1
	}
	switch cause, err := r.readFile(fs, end.Path); {
	case errors.Is(err, os.ErrNotExist):
		return end, &DamagedError{Path: end.Path, Cause: "it is missing, though a marker names it"}
	case err != nil:
		return end, fmt.Errorf("check %s: %w", end.Path, err)
	case cause != "":
		return end, &DamagedError{Path: end.Path, Cause: cause}
	}
	end.Torn, end.Offset = r.bad >= 0, r.bad
	return end, nil
}

// listed is a file system of which one directory was listed.
type listed struct {
	vfs.FS

	names []string
}

// List returns the names again.
func (l listed) List(string) ([]string, error) { return l.names, nil }

// checkUnnamed looks at a directory in which no marker names a MANIFEST. Pebble writes its other files when it is named.
func checkUnnamed(fs vfs.FS, dir string, names []string) error {
	for _, name := range names {
		table := strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
		if table || strings.HasPrefix(name, formatMarker) {
			return &DamagedError{
				Path:  fs.PathJoin(dir, "marker."+marker+".*"),
				Cause: "it is missing, though there is " + name,
			}
		}
	}
	return nil
}

// readFile returns what is wrong with a MANIFEST.
func (r *reader) readFile(fs vfs.FS, path string) (cause string, err error) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, blockBytes)
	for at := int64(0); ; at += blockBytes {
		n, err := io.ReadFull(f, block)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return "", err
		}
		if !r.readBlock(block[:n], at) {
			return fmt.Sprintf("it cannot be read at offset %d, though more was written after that", r.bad), nil
		}
		if err != nil {
			return r.close(at + int64(n)), nil
		}
	}
}
