package database

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
)

// Open opens a database in the file system of its options, or makes one. Damage of one that was there is told as corrupt, with the file if that is
// known. After a write that fails nothing more is written: the error is that of the write, and the disk is as a crash at that moment may leave it.
func Open(dir string, o *pebble.Options, corrupt error) (*pebble.DB, error) {
	full := o.Clone()
	full.EnsureDefaults()
	if err := full.Validate(); err != nil {
		return nil, err
	}
	was, err := pebble.Peek(dir, o.FS)
	if err != nil {
		was = &pebble.DBDesc{} // What cannot be looked at is told by Pebble.
	}
	d := newDisk(o.FS)
	guarded := o.Clone()
	guarded.FS = d
	db, err := openDB(dir, guarded)
	failed := d.endOpening()
	switch {
	case failed != nil && db != nil:
		// Closing it adds nothing to the reason.
		_ = Close(db)
		return nil, failed
	case failed != nil:
		return nil, failed
	case err == nil:
		return db, nil
	case pebble.IsCorruptionError(err):
		return nil, Mark(err, corrupt)
	case !was.Exists || d.refused() || isMistake(err):
		return nil, err
	}
	if name := damagedOptions(dir, o, was); name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return nil, fmt.Errorf("%w: %w", corrupt, err)
}

// isMistake reports whether an error comes from a mistake in a program, such as a nil pointer.
func isMistake(err error) bool {
	_, is := errors.AsType[runtime.Error](err)
	return is
}

// openDB opens Pebble, which panics rather than returns some errors of the disk.
func openDB(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer caught(&err)
	return pebble.Open(dir, o)
}

// Close closes a database. Pebble panics rather than returns some errors of one that failed.
func Close(db *pebble.DB) (err error) {
	defer caught(&err)
	return db.Close()
}

// caught makes a panic the error.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("pebble: %w", r)
	default:
		*err = fmt.Errorf("pebble: %v", r)
	}
}

// damagedOptions returns the path of the file of options if that is why a database cannot be opened: Pebble does not name it.
func damagedOptions(dir string, o *pebble.Options, was *pebble.DBDesc) string {
	if was.OptionsFilename == "" {
		return ""
	}
	f, err := o.FS.Open(was.OptionsFilename)
	if err != nil {
		return ""
	}
	content, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return ""
	}
	full := o.Clone()
	full.EnsureDefaults()
	if full.CheckCompatibility(dir, string(content)) == nil {
		return ""
	}
	return was.OptionsFilename
}

// Mark returns an error of Pebble as corrupt if it tells of damage, with the path of the file if that is known. Others stay as they are.
func Mark(err, corrupt error) error {
	if err == nil || !pebble.IsCorruptionError(err) || errors.Is(err, corrupt) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return Damage(*info, corrupt)
	}
	return fmt.Errorf("%w: %w", corrupt, err)
}

// Damage is the error for damage that Pebble tells of by itself.
func Damage(info pebble.DataCorruptionInfo, corrupt error) error {
	return fmt.Errorf("%w: %s: %w", corrupt, info.Path, info.Details)
}
