package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

// Checkpoint is one checkpoint on disk. Its manifest and files never change.
type Checkpoint struct {
	Manifest *Manifest
	// Name is its directory's in the catalogue.
	Name string

	dir  string
	refs int  // guarded by Catalogue.mu
	old  bool // a newer one took its place; removed when refs falls to zero
}

// Path returns the checkpoint's directory.
func (c *Checkpoint) Path() string { return c.dir }

// DataPath returns the directory of the checkpoint's files.
func (c *Checkpoint) DataPath(fs vfs.FS) string { return DataPath(fs, c.dir) }

// Catalogue knows the checkpoints of one member. It keeps the newest, and older ones while somebody holds them.
type Catalogue struct {
	fs   vfs.FS
	dir  string
	made uint64 // numbers unfinished checkpoints; only Make and Adopt use it

	mu     sync.Mutex // guards what follows and the checkpoints' counts
	newest *Checkpoint
}

const unfinishedPrefix = "new-"

// OpenCatalogue reads the checkpoints in dir, created when missing, and removes what is unfinished or older.
func OpenCatalogue(fs vfs.FS, dir string) (*Catalogue, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create checkpoint directory: %w", err)
	}
	if err := datadir.SyncDir(fs, fs.PathDir(dir)); err != nil {
		return nil, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	slices.Sort(names)
	c := &Catalogue{fs: fs, dir: dir}
	for _, name := range slices.Backward(names) {
		path := fs.PathJoin(dir, name)
		if c.newest == nil && !strings.HasPrefix(name, unfinishedPrefix) {
			if m, err := ReadManifest(fs, path); err == nil && name == m.Name() {
				c.newest = &Checkpoint{Manifest: m, Name: name, dir: path}
				continue
			}
		}
		if err := fs.RemoveAll(path); err != nil {
			return nil, fmt.Errorf("remove checkpoint %s: %w", name, err)
		}
	}
	return c, nil
}

// checkpointName sorts by index.
func checkpointName(index, term uint64) string { return fmt.Sprintf("%020d-%d", index, term) }

// Source makes the files of a checkpoint in a directory that does not exist yet, and says what it holds. The files and
// the directory are durable when it returns.
type Source func(dir string) (*Manifest, error)

// Make takes a new checkpoint into the catalogue and removes the one before, unless somebody holds it. A checkpoint
// that is not newer is dropped; the newest is returned either way.
func (c *Catalogue) Make(source Source) (*Checkpoint, error) {
	tmp := c.unfinished()
	made, err := c.make(tmp, source)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make checkpoint: %w", err), c.fs.RemoveAll(tmp))
	}
	return made, nil
}

// unfinished names a directory for a checkpoint that is not complete yet.
func (c *Catalogue) unfinished() string {
	c.made++
	return c.fs.PathJoin(c.dir, unfinishedPrefix+strconv.FormatUint(c.made, 10))
}

func (c *Catalogue) make(tmp string, source Source) (*Checkpoint, error) {
	if err := c.fs.RemoveAll(tmp); err != nil {
		return nil, err
	}
	if err := c.fs.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	data := DataPath(c.fs, tmp)
	m, err := source(data)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	before := c.newest
	c.mu.Unlock()
	if before != nil && m.Index <= before.Manifest.Index {
		return before, c.fs.RemoveAll(tmp)
	}
	m.Format = formatVersion
	if m.Files, err = sumAll(c.fs, data, knownFiles(before)); err != nil {
		return nil, err
	}
	if err := WriteManifest(c.fs, tmp, m); err != nil {
		return nil, err
	}
	return c.enter(tmp, m)
}

// enter makes the complete checkpoint in tmp the newest.
func (c *Catalogue) enter(tmp string, m *Manifest) (*Checkpoint, error) {
	name := m.Name()
	made := &Checkpoint{Manifest: m, Name: name, dir: c.fs.PathJoin(c.dir, name)}
	if err := c.fs.Rename(tmp, made.dir); err != nil {
		return nil, err
	}
	if err := datadir.SyncDir(c.fs, c.dir); err != nil {
		return nil, err
	}
	return made, c.replace(made)
}

// replace makes a checkpoint the newest.
func (c *Catalogue) replace(made *Checkpoint) error {
	c.mu.Lock()
	before := c.newest
	c.newest = made
	remove := before != nil && before.refs == 0
	if before != nil {
		before.old = true
	}
	c.mu.Unlock()
	if remove {
		return c.fs.RemoveAll(before.dir)
	}
	return nil
}

// knownFiles are the checksums of a checkpoint of the same state machine.
func knownFiles(c *Checkpoint) map[string]File {
	known := map[string]File{}
	if c != nil {
		for _, f := range c.Manifest.Files {
			known[f.Name] = f
		}
	}
	return known
}

// Forget drops every checkpoint: the state machine they were made from is replaced. It is durable when it returns, so that
// none lends its checksums to files of the new one, also not after a crash. One that is held goes later, and is none any
// more after a restart.
func (c *Catalogue) Forget() error {
	c.mu.Lock()
	before := c.newest
	c.newest = nil
	held := before != nil && before.refs > 0
	if before != nil {
		before.old = true
	}
	c.mu.Unlock()
	switch {
	case before == nil:
		return nil
	case !held:
		if err := c.fs.RemoveAll(before.dir); err != nil {
			return err
		}
		return datadir.SyncDir(c.fs, c.dir)
	}
	// Whoever releases it may be removing it now.
	err := c.fs.Remove(c.fs.PathJoin(before.dir, manifestFile))
	if err == nil {
		err = datadir.SyncDir(c.fs, before.dir)
	}
	if errors.Is(err, os.ErrNotExist) {
		return datadir.SyncDir(c.fs, c.dir)
	}
	return err
}

// Newest returns the manifest of the newest checkpoint, nil when there is none.
func (c *Catalogue) Newest() *Manifest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest == nil {
		return nil
	}
	return c.newest.Manifest
}

// Hold returns the newest checkpoint and keeps it until Release; nil when there is none.
func (c *Catalogue) Hold() *Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest != nil {
		c.newest.refs++
	}
	return c.newest
}

// Release gives a held checkpoint back.
func (c *Catalogue) Release(held *Checkpoint) error {
	c.mu.Lock()
	held.refs--
	remove := held.old && held.refs == 0
	c.mu.Unlock()
	if remove {
		return c.fs.RemoveAll(held.dir)
	}
	return nil
}
