package datadir

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// owner is a user and a group of the system.
type owner struct{ uid, gid int }

// ownedFS gives what it makes to an owner.
type ownedFS struct {
	vfs.FS
	of owner
}

// Owned returns a file system for work on a data directory by the system's administrator: what it makes belongs to whom the directory belongs, or if it
// is not there yet, to whom that belongs in which it is made. A member that runs as a user of its own could not use it otherwise. For all other users,
// and where files have no owners, it is the same file system.
func Owned(fs vfs.FS, path string) vfs.FS {
	if os.Geteuid() != 0 || !isDisk(fs) {
		return fs
	}
	for at := path; ; at = fs.PathDir(at) {
		if info, err := os.Stat(at); err == nil {
			of, known := ownerOf(info)
			if !known || of == (owner{}) {
				return fs
			}
			return ownedFS{FS: fs, of: of}
		}
		if at == fs.PathDir(at) {
			return fs
		}
	}
}

// Unwrap returns the file system underneath.
func (o ownedFS) Unwrap() vfs.FS { return o.FS }

// give gives a file that was just made, by what it is open as: its name may be another file's by now.
func (o ownedFS) give(f vfs.File, err error) (vfs.File, error) {
	if err == nil {
		if err = giveOpen(f.Fd(), o.of); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, err
}

func isMissing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, os.ErrNotExist)
}

// Create makes a file.
func (o ownedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return o.give(o.FS.Create(name, category))
}

// OpenReadWrite opens a file, or makes it.
func (o ownedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	if !isMissing(name) {
		return o.FS.OpenReadWrite(name, category, options...)
	}
	return o.give(o.FS.OpenReadWrite(name, category, options...))
}

// MkdirAll makes directories.
func (o ownedFS) MkdirAll(dir string, perm os.FileMode) error {
	var made []string
	for at := dir; isMissing(at); at = o.PathDir(at) {
		made = append(made, at)
		if at == o.PathDir(at) {
			break
		}
	}
	err := o.FS.MkdirAll(dir, perm)
	for _, at := range made {
		if err == nil {
			err = os.Lchown(at, o.of.uid, o.of.gid)
		}
	}
	return err
}

// Lock locks a file, or makes it.
func (o ownedFS) Lock(name string) (io.Closer, error) {
	made := isMissing(name)
	lock, err := o.FS.Lock(name)
	if err == nil && made {
		if err = os.Lchown(name, o.of.uid, o.of.gid); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	return lock, err
}
