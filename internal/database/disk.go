package database

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system of a database. The first write that fails while the database is opened is kept, and nothing is written any more, but
// Pebble hears of no failure: it would try a flush again for ever, and wait for it. So Pebble comes to an end, and whoever opens the
// database says what failed. Once it is open, each operation is that of the file system.
type disk struct {
	vfs.FS

	// ended is nil while the database is opened. It is set once: to the error of the first write that failed, or to none.
	ended atomic.Pointer[error]
	// denied is set when the lock, or a read, failed while the database was opened.
	denied atomic.Bool
	// aside has the files that are made after a write failed, without their directories.
	aside *vfs.MemFS
}

func newDisk(fs vfs.FS) *disk { return &disk{FS: fs, aside: vfs.NewMem()} }

// endOpening returns the error of the write that failed. If none did, all operations are those of the file system from now on.
func (d *disk) endOpening() error {
	d.ended.CompareAndSwap(nil, new(error))
	return *d.ended.Load()
}

// refused reports whether the lock, or a read, failed while the database was opened.
func (d *disk) refused() bool { return d.denied.Load() }

// Unwrap returns the file system underneath.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// failed reports whether nothing is written any more.
func (d *disk) failed() bool {
	err := d.ended.Load()
	return err != nil && *err != nil
}

// hide keeps the error of a write, and reports whether Pebble must not hear of it.
func (d *disk) hide(err error) bool {
	if err == nil || answers(err) {
		return false
	}
	first := err
	d.ended.CompareAndSwap(nil, &first)
	return d.failed()
}

// do runs a write.
func (d *disk) do(write func() error) error {
	if d.failed() {
		return nil
	}
	if err := write(); !d.hide(err) {
		return err
	}
	return nil
}

// open runs a write that returns a file. If it fails, or an earlier one did, the file is in memory.
func (d *disk) open(name string, write func() (vfs.File, error)) (vfs.File, error) {
	if !d.failed() {
		f, err := write()
		if err == nil {
			return &writtenFile{File: f, d: d}, nil
		}
		if !d.hide(err) {
			return nil, err
		}
	}
	return d.aside.Create(d.PathBase(name), vfs.WriteCategoryUnspecified)
}

// read looks at how a read ended.
func (d *disk) read(err error) error {
	if err != nil && d.ended.Load() == nil && !answers(err) {
		d.denied.Store(true)
	}
	return err
}

// answers reports whether an error says what is on a disk, and not that the disk fails.
func answers(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Create makes a file.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(name, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

// OpenReadWrite opens a file for writing.
func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.open(name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

// ReuseForWrite makes a file of another.
func (d *disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(to, func() (vfs.File, error) { return d.FS.ReuseForWrite(from, to, category) })
}

// Open opens a file for reading.
func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if d.failed() {
		if f, err := d.aside.Open(d.PathBase(name)); err == nil {
			return f, nil
		}
	}
	f, err := d.FS.Open(name, opts...)
	if err != nil || d.ended.Load() != nil {
		return f, d.read(err)
	}
	return &readFile{File: f, d: d}, nil
}

// OpenDir opens a directory, whose sync is a write.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, d.read(err)
	}
	return &writtenFile{File: f, d: d}, nil
}

// Lock takes a lock. Another process may have it.
func (d *disk) Lock(name string) (io.Closer, error) {
	c, err := d.FS.Lock(name)
	return c, d.read(err)
}

// List names what is in a directory.
func (d *disk) List(dir string) ([]string, error) {
	names, err := d.FS.List(dir)
	return names, d.read(err)
}

// Stat says what a file is.
func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	info, err := d.FS.Stat(name)
	return info, d.read(err)
}

// Link makes a second name. A file system that cannot is no failure: Pebble copies then.
func (d *disk) Link(from, to string) error {
	if d.failed() {
		return nil
	}
	return d.FS.Link(from, to)
}

// Remove removes a file.
func (d *disk) Remove(name string) error { return d.do(func() error { return d.FS.Remove(name) }) }

// RemoveAll removes a directory.
func (d *disk) RemoveAll(name string) error {
	return d.do(func() error { return d.FS.RemoveAll(name) })
}

// Rename gives a file another name.
func (d *disk) Rename(from, to string) error {
	return d.do(func() error { return d.FS.Rename(from, to) })
}

// MkdirAll makes directories.
func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.do(func() error { return d.FS.MkdirAll(dir, perm) })
}

// writtenFile is a file that was opened for writing, or a directory.
type writtenFile struct {
	vfs.File
	d *disk
}

// Write appends.
func (f *writtenFile) Write(p []byte) (int, error) {
	if f.d.failed() {
		return len(p), nil
	}
	n, err := f.File.Write(p)
	if f.d.hide(err) {
		return len(p), nil
	}
	return n, err
}

// WriteAt writes at an offset.
func (f *writtenFile) WriteAt(p []byte, off int64) (int, error) {
	if f.d.failed() {
		return len(p), nil
	}
	n, err := f.File.WriteAt(p, off)
	if f.d.hide(err) {
		return len(p), nil
	}
	return n, err
}

// Sync brings everything to stable storage.
func (f *writtenFile) Sync() error { return f.d.do(f.File.Sync) }

// SyncData brings the data to stable storage.
func (f *writtenFile) SyncData() error { return f.d.do(f.File.SyncData) }

// SyncTo begins to bring the data to stable storage.
func (f *writtenFile) SyncTo(length int64) (full bool, err error) {
	err = f.d.do(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close closes the file, whatever failed before.
func (f *writtenFile) Close() error {
	if err := f.File.Close(); !f.d.hide(err) && !f.d.failed() {
		return err
	}
	return nil
}

// readFile is a file that was opened for reading while the database was opened.
type readFile struct {
	vfs.File
	d *disk
}

// Read reads on.
func (f *readFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, f.d.read(err)
}

// ReadAt reads from an offset.
func (f *readFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	return n, f.d.read(err)
}
