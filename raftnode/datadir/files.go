package datadir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WriteFile replaces a small file in a directory whole or not at all: it is written beside it, synced and renamed, and the
// directory is synced. It is durable when the call returns.
func WriteFile(fs vfs.FS, dir, name string, data []byte) error {
	tmp := fs.PathJoin(dir, name+tmpSuffix)
	f, err := fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	// A file may change what it is given to write.
	_, err = f.Write(bytes.Clone(data))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fs.Rename(tmp, fs.PathJoin(dir, name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return syncDir(fs, dir)
}

// SyncDir makes the entries of a directory durable.
func SyncDir(fs vfs.FS, dir string) error { return syncDir(fs, dir) }

func syncDir(fs vfs.FS, dir string) error {
	f, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// ReadFile returns a small file's content.
func ReadFile(fs vfs.FS, path string) ([]byte, error) { return readFile(fs, path) }

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	return raw, errors.Join(err, f.Close())
}

func parseHex(s string, length int) ([]byte, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, err
	}
	if len(b) != length {
		return nil, fmt.Errorf("%d bytes, want %d", len(b), length)
	}
	return b, nil
}
