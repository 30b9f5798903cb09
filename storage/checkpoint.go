package storage

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/internal/database"
	"github.com/tenure-io/tenure/internal/manifest"
	"github.com/tenure-io/tenure/storage/layout"
)

// Checkpoint flushes and writes a copy of the store into a directory that must not exist. It returns the account of the
// copy itself, which may be younger than what was applied when the call began. Apply may go on meanwhile.
func (s *Store) Checkpoint(dir string) (Applied, error) {
	if err := s.enter(); err != nil {
		return Applied{}, err
	}
	defer s.leave()
	if err := s.flush(); err != nil {
		return Applied{}, fmt.Errorf("checkpoint: %w", err)
	}
	if err := s.copyTo(dir); err != nil {
		return Applied{}, fmt.Errorf("checkpoint: %w", err)
	}
	a, err := readCheckpoint(s.fs, dir)
	if err == nil {
		err = removeLock(s.fs, dir)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("checkpoint: %w", err)
	}
	return a, nil
}

// copyTo has Pebble write the copy. Pebble panics with the error of the disk where a directory cannot be synced.
func (s *Store) copyTo(dir string) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			panic(p)
		case error:
			err = p
		default:
			panic(p)
		}
	}()
	return s.db.Checkpoint(dir)
}

// lockFile is what Pebble leaves where a database was opened.
const lockFile = "LOCK"

// removeLock leaves a checkpoint as it was before it was read. A file whose name may be lost in a crash must not be part
// of what is listed, summed and sent.
func removeLock(fs vfs.FS, dir string) error {
	if err := fs.Remove(fs.PathJoin(dir, lockFile)); err != nil {
		return fmt.Errorf("remove lock: %w", err)
	}
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

func readCheckpoint(fs vfs.FS, dir string) (Applied, error) {
	end, err := checkManifest(fs, dir)
	if err != nil {
		return Applied{}, err
	}
	o := &pebble.Options{
		FS:                 fs,
		ReadOnly:           true,
		DisableWAL:         true,
		FormatMajorVersion: pebbleFormat,
		Logger:             newBackground(),
	}
	db, err := database.Open(dir, o, ErrCorrupt)
	if errors.Is(err, ErrCorrupt) && end.Torn { // A crash tears a record before what it replaces is removed.
		err = fmt.Errorf("%s: it cannot be read at offset %d, and what comes before does not fit: %w", end.Path, end.Offset, err)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("open: %w", err)
	}
	a, err := readApplied(db)
	return a, errors.Join(err, database.Close(db))
}

// checkManifest refuses a directory whose MANIFEST is damaged, before Pebble takes it for that of an older state and removes
// the tables of the newer one.
func checkManifest(fs vfs.FS, dir string) (manifest.End, error) {
	end, err := manifest.Check(fs, dir)
	if _, damaged := errors.AsType[*manifest.DamagedError](err); damaged {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return end, err
}

// ReadApplied returns the account of a store that is not open, and changes nothing in it but its lock file. One that was made
// and is empty is ErrNotBootstrapped.
func ReadApplied(fs vfs.FS, dir string) (Applied, error) {
	a, err := readCheckpoint(fs, dir)
	if errors.Is(err, pebble.ErrDBDoesNotExist) && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("read store: %w", err)
	}
	return a, nil
}

// ReadCheckpoint returns the account of a copy that Checkpoint made, wherever it came from, and refuses one that this program cannot
// follow. It leaves the directory as it was.
func ReadCheckpoint(fs vfs.FS, dir string) (Applied, error) {
	a, err := readCheckpoint(fs, dir)
	if err == nil {
		err = layout.CheckVersion(a.ClusterVersion)
	}
	if removed := removeLock(fs, dir); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return Applied{}, fmt.Errorf("read checkpoint: %w", err)
	}
	return a, nil
}
