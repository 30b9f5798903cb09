package main

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// newFsyncCell appends valueBytes to a growing file and syncs the data after each append, the least that any durable
// write can do.
func newFsyncCell(dir string, valueBytes int) (*cell, error) {
	file, err := os.Create(filepath.Join(dir, "fdatasync"))
	if err != nil {
		return nil, err
	}
	block := make([]byte, valueBytes)
	return &cell{
		drivers: 1,
		step: func(_ context.Context, _ int, r *recorder) error {
			return r.time(func() error {
				if _, err := file.Write(block); err != nil {
					return err
				}
				return unix.Fdatasync(int(file.Fd()))
			})
		},
		close: func() error {
			if err := file.Close(); err != nil {
				return err
			}
			return os.Remove(file.Name())
		},
	}, nil
}

// onTmpfs tells whether a directory lies in memory, where a sync means nothing.
func onTmpfs(dir string) (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return false, err
	}
	return stat.Type == unix.TMPFS_MAGIC, nil
}
