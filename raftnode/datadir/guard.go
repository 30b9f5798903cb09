package datadir

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrDiskFailed says that an earlier write to the disk failed, so nothing is written any more.
var ErrDiskFailed = errors.New("disk failed earlier")

// Guard is a file system that writes nothing after its first failed write. Pebble takes some failed writes, above all
// of its MANIFEST, for the end of the process; if it were let go on it could write what contradicts the part that is
// missing. With the guard whatever is on disk after a failure is what a crash at that moment would have left.
type Guard struct {
	vfs.FS
	err      atomic.Pointer[error]
	failed   chan struct{}
	underWay underWay
}

// NewGuard watches over a file system.
func NewGuard(fs vfs.FS) *Guard { return &Guard{FS: fs, failed: make(chan struct{})} }

// Failed is closed by the first failed write.
func (g *Guard) Failed() <-chan struct{} { return g.failed }

// Err returns the first failed write's error, nil while there is none.
func (g *Guard) Err() error {
	if p := g.err.Load(); p != nil {
		return *p
	}
	return nil
}

// Unwrap returns the file system underneath.
func (g *Guard) Unwrap() vfs.FS { return g.FS }

// before refuses a write after a failure.
func (g *Guard) before() error {
	if p := g.err.Load(); p != nil {
		return fmt.Errorf("%w: %w", ErrDiskFailed, *p)
	}
	return nil
}

// after looks at how a write ended. That something is there or is not there already is an answer, not a failure.
func (g *Guard) after(err error) error {
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) &&
		g.err.CompareAndSwap(nil, &err) {
		close(g.failed)
	}
	return err
}

// do runs a write that returns no file.
func (g *Guard) do(write func() error) error {
	if err := g.before(); err != nil {
		return err
	}
	return g.after(write())
}

// open runs a write that returns a file.
func (g *Guard) open(write func() (vfs.File, error)) (vfs.File, error) {
	if err := g.before(); err != nil {
		return nil, err
	}
	end := g.underWay.begin()
	f, err := write()
	end()
	if err != nil {
		return nil, g.after(err)
	}
	return &guardedFile{File: f, g: g}, nil
}

// Create makes a file.
func (g *Guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.Create(name, category) })
}

// OpenReadWrite opens a file for writing.
func (g *Guard) OpenReadWrite(
	name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, category, opts...) })
}

// OpenDir opens a directory, whose sync is a write. Opening it is none.
func (g *Guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardedFile{File: f, g: g}, nil
}

// ReuseForWrite makes a file of another.
func (g *Guard) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, category) })
}

// Link makes a second name. A file system that cannot is no failure: callers copy then.
func (g *Guard) Link(from, to string) error {
	if err := g.before(); err != nil {
		return err
	}
	return g.FS.Link(from, to)
}

// Remove removes a file.
func (g *Guard) Remove(name string) error { return g.do(func() error { return g.FS.Remove(name) }) }

// RemoveAll removes a directory.
func (g *Guard) RemoveAll(name string) error {
	return g.do(func() error { return g.FS.RemoveAll(name) })
}

// Rename gives a file another name.
func (g *Guard) Rename(from, to string) error {
	return g.do(func() error { return g.FS.Rename(from, to) })
}

// MkdirAll makes directories.
func (g *Guard) MkdirAll(dir string, perm os.FileMode) error {
	return g.do(func() error { return g.FS.MkdirAll(dir, perm) })
}

// guardedFile is a file that was opened for writing, or a directory.
type guardedFile struct {
	vfs.File
	g *Guard
}

// do runs a write of the file, whose time is taken.
func (f *guardedFile) do(write func() error) error {
	return f.g.do(func() error {
		defer f.g.underWay.begin()()
		return write()
	})
}

// Write appends.
func (f *guardedFile) Write(p []byte) (n int, err error) {
	err = f.do(func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

// WriteAt writes at an offset.
func (f *guardedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

// Sync brings everything to stable storage.
func (f *guardedFile) Sync() error { return f.do(f.File.Sync) }

// SyncData brings the data to stable storage.
func (f *guardedFile) SyncData() error { return f.do(f.File.SyncData) }

// SyncTo begins to bring the data to stable storage.
func (f *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
