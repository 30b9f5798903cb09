package datadir

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// asideFS shows another file system as it would be after what is written to it, and leaves that as it is. What is written stays in memory, and is gone
// with it; links take no space.
type asideFS struct {
	below vfs.FS
	above *vfs.MemFS // what was written, and the directories that it is in

	mu sync.Mutex // guards what follows
	// links are the names that files below have got here, and gone what is no more to be seen of below, with all that is in it.
	links map[string]string
	gone  map[string]bool
}

// Aside returns a file system in which work can be tried on what another one has, which it does not change. A file that is opened for writing is no
// longer the same as its links.
func Aside(fs vfs.FS) vfs.FS {
	return &asideFS{below: fs, above: vfs.NewMem(), links: map[string]string{}, gone: map[string]bool{}}
}

// missing returns the error for a name that is not there.
func missing(op, name string) error { return &os.PathError{Op: op, Path: name, Err: os.ErrNotExist} }

// hidden reports whether nothing is to be seen of a name below. Its caller holds mu.
func (a *asideFS) hidden(name string) bool {
	for at := name; ; at = a.below.PathDir(at) {
		if a.gone[at] {
			return true
		}
		if at == a.below.PathDir(at) {
			return false
		}
	}
}

// find returns the file system that has a name, and the name there. Its caller holds mu.
func (a *asideFS) find(op, name string) (vfs.FS, string, error) {
	if _, err := a.above.Stat(name); err == nil {
		return a.above, name, nil
	}
	if at, linked := a.links[name]; linked {
		return a.below, at, nil
	}
	if a.hidden(name) {
		return nil, "", missing(op, name)
	}
	if _, err := a.below.Stat(name); err != nil {
		return nil, "", err
	}
	return a.below, name, nil
}

// room makes the directory of a name that is to be written, if there is one here or below. Its caller holds mu.
func (a *asideFS) room(name string) error {
	dir := a.below.PathDir(name)
	if _, _, err := a.find("open", dir); err != nil {
		return err
	}
	return a.above.MkdirAll(dir, dirMode)
}

// drop removes a name, and all below it. Its caller holds mu.
func (a *asideFS) drop(name string) error {
	a.gone[name] = true
	inside := strings.TrimSuffix(a.below.PathJoin(name, "x"), "x")
	maps.DeleteFunc(a.links, func(link, _ string) bool { return link == name || strings.HasPrefix(link, inside) })
	return a.above.RemoveAll(name)
}

// Create makes a file.
func (a *asideFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.create(name, category)
}

func (a *asideFS) create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := a.room(name); err != nil {
		return nil, err
	}
	delete(a.links, name)
	return a.above.Create(name, category)
}

// Link gives a file another name.
func (a *asideFS) Link(from, to string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	fs, at, err := a.find("link", from)
	if err != nil {
		return err
	}
	if _, _, err = a.find("link", to); err == nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: os.ErrExist}
	}
	if err = a.room(to); err != nil {
		return err
	}
	if fs == a.below {
		a.links[to] = at
		return nil
	}
	return a.above.Link(from, to)
}

// Open opens a file for reading.
func (a *asideFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fs, at, err := a.find("open", name)
	if err != nil {
		return nil, err
	}
	return fs.Open(at, options...)
}

// OpenReadWrite opens a copy of a file.
func (a *asideFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fs, at, err := a.find("open", name)
	if err == nil && fs == a.below {
		err = a.copy(at, name, category)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = a.room(name)
	}
	if err != nil {
		return nil, err
	}
	return a.above.OpenReadWrite(name, category, options...)
}

// copy copies a file below to a name here. Its caller holds mu.
func (a *asideFS) copy(from, to string, category vfs.DiskWriteCategory) error {
	r, err := a.below.Open(from)
	if err != nil {
		return err
	}
	w, err := a.create(to, category)
	if err == nil {
		_, err = io.Copy(w, r)
		err = errors.Join(err, w.Close())
	}
	return errors.Join(err, r.Close())
}

// OpenDir opens a directory, whose sync does nothing.
func (a *asideFS) OpenDir(name string) (vfs.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, _, err := a.find("open", name); err != nil {
		return nil, err
	}
	if err := a.above.MkdirAll(name, dirMode); err != nil {
		return nil, err
	}
	return a.above.OpenDir(name)
}

// Remove removes a file, or a directory that is empty.
func (a *asideFS) Remove(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, _, err := a.find("remove", name); err != nil {
		return err
	}
	if names, err := a.list(name); err == nil && len(names) > 0 {
		return fmt.Errorf("remove %s: the directory is not empty", name)
	}
	return a.drop(name)
}

// RemoveAll removes a name, and all below it.
func (a *asideFS) RemoveAll(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.drop(name)
}

// Rename gives a file, or all that is in a directory, another name.
func (a *asideFS) Rename(from, to string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rename(from, to)
}

func (a *asideFS) rename(from, to string) error {
	fs, at, err := a.find("rename", from)
	if err != nil {
		return err
	}
	if err = a.room(to); err != nil {
		return err
	}
	info, err := fs.Stat(at)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return a.renameDir(from, to)
	}
	if fs == a.below {
		err = errors.Join(a.drop(to), a.drop(from))
		a.links[to] = at
		return err
	}
	delete(a.links, to)
	a.gone[from] = true
	return a.above.Rename(from, to)
}

func (a *asideFS) renameDir(from, to string) error {
	names, err := a.list(from)
	if err == nil {
		err = errors.Join(a.drop(to), a.above.MkdirAll(to, dirMode))
	}
	for _, name := range names {
		err = errors.Join(err, a.rename(a.below.PathJoin(from, name), a.below.PathJoin(to, name)))
	}
	return errors.Join(err, a.drop(from))
}

// ReuseForWrite removes a file, and makes another one.
func (a *asideFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := a.Remove(from); err != nil {
		return nil, err
	}
	return a.Create(to, category)
}

// MkdirAll makes directories.
func (a *asideFS) MkdirAll(dir string, perm os.FileMode) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.above.MkdirAll(dir, perm)
}

// Lock locks a file that is there like its owner would, so that a member that runs is noticed. One that is not there is locked here alone.
func (a *asideFS) Lock(name string) (io.Closer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if fs, at, err := a.find("lock", name); err == nil && fs == a.below && isDisk(a.below) {
		return lockAsItIs(at)
	}
	if err := a.room(name); err != nil {
		return nil, err
	}
	return a.above.Lock(name)
}

// List returns the names in a directory.
func (a *asideFS) List(dir string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list(dir)
}

func (a *asideFS) list(dir string) ([]string, error) {
	if _, _, err := a.find("open", dir); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	if names, err := a.above.List(dir); err == nil {
		for _, name := range names {
			found[name] = true
		}
	}
	for link := range a.links {
		if a.below.PathDir(link) == dir {
			found[a.below.PathBase(link)] = true
		}
	}
	if !a.hidden(dir) {
		names, err := a.below.List(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, name := range names {
			if !a.gone[a.below.PathJoin(dir, name)] {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Stat describes a name.
func (a *asideFS) Stat(name string) (vfs.FileInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fs, at, err := a.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(at)
}

// PathBase is that of the file system below, as are the following.
func (a *asideFS) PathBase(path string) string { return a.below.PathBase(path) }

// PathJoin joins names.
func (a *asideFS) PathJoin(elem ...string) string { return a.below.PathJoin(elem...) }

// PathDir returns the directory of a name.
func (a *asideFS) PathDir(path string) string { return a.below.PathDir(path) }

// GetDiskUsage does not say how full memory is.
func (*asideFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{}, vfs.ErrUnsupported
}

// Unwrap returns nothing: what is below must not be written to.
func (*asideFS) Unwrap() vfs.FS { return nil }
