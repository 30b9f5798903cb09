package transfer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
)

// findRemains returns what an earlier process left in the directory of an inbox: snapshots that were being received, or
// were not installed yet, by name. What has no manifest is of no use, and is removed.
func findRemains(fs vfs.FS, dir string) (map[string]*checkpoint.Manifest, error) {
	remains := map[string]*checkpoint.Manifest{}
	if _, err := fs.Stat(dir); err != nil {
		return remains, nil //nolint:nilerr // It is made when the first snapshot comes.
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list received snapshots: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		m, err := checkpoint.ReadManifest(fs, path)
		if err == nil {
			remains[name] = m
			continue
		}
		if err := fs.RemoveAll(path); err != nil {
			return nil, fmt.Errorf("remove received snapshot %s: %w", name, err)
		}
	}
	return remains, nil
}

// Discard removes everything from the directory of an inbox that is not open.
func Discard(fs vfs.FS, dir string) error {
	if err := fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove received snapshots: %w", err)
	}
	return nil
}

// freeName returns a name for a directory that no other snapshot here has, nor had in this process. The caller holds mu.
func (in *Inbox) freeName(content string) string {
	for {
		name := fmt.Sprintf("%s-%d", content, in.streams)
		if in.remains[name] == nil && in.complete[name] == nil {
			return name
		}
		in.streams++
	}
}

// reuse gives files that are here a second name in the directory of a new snapshot, if they have the name, size and checksum
// that it wants. Their content is compared with the checksum before the snapshot counts as complete. It returns how many bytes
// they have. The caller holds mu.
func (in *Inbox) reuse(p *incoming) (int64, error) {
	for _, from := range []map[string]*checkpoint.Manifest{in.remains, in.complete} {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			if err := in.link(p, from[name], in.fs.PathJoin(in.dir, name), true); err != nil {
				return 0, err
			}
		}
	}
	if err := in.reuseOwn(p); err != nil {
		return 0, err
	}
	return p.manifest.SizeBytes() - p.missing(), nil
}

// reuseOwn reuses files of the newest checkpoint of this member's own state.
func (in *Inbox) reuseOwn(p *incoming) (err error) {
	if in.own == nil {
		return nil
	}
	held := in.own.Hold()
	if held == nil {
		return nil
	}
	return errors.Join(in.link(p, held.Manifest, held.Path(), false), in.own.Release(held))
}

// link reuses files of a checkpoint in dir. Of one that was being received a file may be begun, and is gone on with: nobody
// else does. A file that is missing has been moved or removed meanwhile.
func (in *Inbox) link(p *incoming, m *checkpoint.Manifest, dir string, begun bool) error {
	from := checkpoint.DataPath(in.fs, dir)
	to := checkpoint.DataPath(in.fs, in.fs.PathJoin(in.dir, p.name))
	for _, f := range m.Files {
		if p.files[f.Name] != f || in.distrusted[f] {
			continue
		}
		st, err := in.fs.Stat(in.fs.PathJoin(from, f.Name))
		if err != nil || st.Size() <= p.have[f.Name] || st.Size() > f.SizeBytes || st.Size() < f.SizeBytes && !begun {
			continue
		}
		path := in.fs.PathJoin(to, f.Name)
		if err = in.remove(path); err != nil {
			return fmt.Errorf("reuse %s: %w", f.Name, err)
		}
		delete(p.have, f.Name)
		if in.fs.Link(in.fs.PathJoin(from, f.Name), path) == nil {
			p.have[f.Name] = st.Size()
		}
	}
	return nil
}

// remove removes a file if there is one.
func (in *Inbox) remove(path string) error {
	if err := in.fs.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// distrust drops the files of the snapshot that is being received that turned out to be damaged, or all of it if it is not
// known which. The caller holds mu.
func (in *Inbox) distrust(p *incoming, why error) error {
	damage := &checkpoint.DamageError{}
	if !errors.As(why, &damage) {
		err := in.putAside()
		return errors.Join(err, in.removeRemains(func(m *checkpoint.Manifest) bool { return m == p.manifest }))
	}
	data := checkpoint.DataPath(in.fs, in.fs.PathJoin(in.dir, p.name))
	defer func() { in.missing.Store(p.missing()) }()
	var errs []error
	for _, name := range damage.Files {
		in.distrusted[p.files[name]] = true
		delete(p.have, name)
		errs = append(errs, in.remove(in.fs.PathJoin(data, name)))
	}
	return errors.Join(errs...)
}

// removeRemains removes the directories of snapshots that nobody sends any more. The caller holds mu.
func (in *Inbox) removeRemains(which func(*checkpoint.Manifest) bool) error {
	for _, name := range slices.Sorted(maps.Keys(in.remains)) {
		if !which(in.remains[name]) {
			continue
		}
		if err := in.fs.RemoveAll(in.fs.PathJoin(in.dir, name)); err != nil {
			return fmt.Errorf("remove received snapshot %s: %w", name, err)
		}
		delete(in.remains, name)
	}
	return nil
}
