package raftnode_test

import (
	"errors"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// powerFS is a disk whose power can be cut. Nothing becomes durable afterwards, so that the member cannot acknowledge what
// the copy of its disk does not have.
type powerFS struct {
	vfs.FS
	mu  sync.RWMutex // held by cut, shared by what makes writes durable; guards off
	off bool
}

var errPowerCut = errors.New("the power was cut")

// cut returns a copy of what is durable, and cuts the power.
func (p *powerFS) cut(disk *vfs.MemFS) *vfs.MemFS {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	return disk.CrashClone(vfs.CrashCloneCfg{})
}

// powered runs what must not happen while or after the power is cut.
func (p *powerFS) powered(do func() error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.off {
		return errPowerCut
	}
	return do()
}

// file has a file lose its power with the disk.
func (p *powerFS) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return poweredFile{File: f, power: p}, nil
}

func (p *powerFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(p.FS.Create(name, c))
}

func (p *powerFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.file(p.FS.OpenReadWrite(name, c, opts...))
}

func (p *powerFS) OpenDir(name string) (vfs.File, error) {
	return p.file(p.FS.OpenDir(name))
}

// These three take a lock of MemFS for which a clone waits twice: with a clone between the two neither would go on.

func (p *powerFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	err = p.powered(func() error {
		f, err = p.file(p.FS.ReuseForWrite(from, to, c))
		return err
	})
	return f, err
}

func (p *powerFS) Link(from, to string) error {
	return p.powered(func() error { return p.FS.Link(from, to) })
}

func (p *powerFS) Lock(name string) (lock io.Closer, err error) {
	err = p.powered(func() error {
		lock, err = p.FS.Lock(name)
		return err
	})
	return lock, err
}

func (p *powerFS) Unwrap() vfs.FS { return p.FS }

// poweredFile is a file on a disk whose power can be cut.
type poweredFile struct {
	vfs.File
	power *powerFS
}

func (f poweredFile) Sync() error { return f.power.powered(f.File.Sync) }

func (f poweredFile) SyncData() error { return f.power.powered(f.File.SyncData) }

func (f poweredFile) SyncTo(length int64) (full bool, err error) {
	err = f.power.powered(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
