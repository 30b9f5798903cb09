package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

// Adopt forgets every checkpoint, since the state machine they were made from is replaced, and takes in the snapshot that
// replaced it: its manifest is in the directory received, and its files, as they were verified, in data. So the next
// snapshot finds here what it has in common with this one. If there is no manifest, if the files were changed or cannot have
// second names, the catalogue stays empty: then the next snapshot is sent whole.
//
// Done again after a crash, it keeps what it has done: the files may be gone by then.
func (c *Catalogue) Adopt(received, data string) error {
	raw, m, err := ReadManifestRaw(c.fs, received)
	if err != nil {
		return c.Forget()
	}
	done, err := c.adopted(raw, m)
	if done || err != nil {
		return err
	}
	if err = c.Forget(); err != nil {
		return err
	}
	tmp := c.unfinished()
	if err = c.adopt(tmp, raw, m, data); err == nil {
		_, err = c.enter(tmp, m)
		return err
	}
	if errors.Is(err, datadir.ErrDiskFailed) {
		return err
	}
	return c.fs.RemoveAll(tmp)
}

// adopted reports whether the newest checkpoint is the snapshot already.
func (c *Catalogue) adopted(raw []byte, m *Manifest) (bool, error) {
	newest := c.Hold()
	if newest == nil {
		return false, nil
	}
	same := false
	if newest.Name == m.Name() {
		there, _, err := ReadManifestRaw(c.fs, newest.dir)
		same = err == nil && bytes.Equal(there, raw)
	}
	return same, c.Release(newest)
}

// adopt makes a checkpoint of the files of data in tmp. Tables get second names; what a database changes is copied.
func (c *Catalogue) adopt(tmp string, raw []byte, m *Manifest, data string) error {
	to := DataPath(c.fs, tmp)
	if err := errors.Join(c.fs.RemoveAll(tmp), c.fs.MkdirAll(to, 0o700)); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := c.adoptFile(f, c.fs.PathJoin(data, f.Name), to); err != nil {
			return fmt.Errorf("adopt %s: %w", f.Name, err)
		}
	}
	if err := datadir.SyncDir(c.fs, to); err != nil {
		return err
	}
	return WriteManifestRaw(c.fs, tmp, raw)
}

func (c *Catalogue) adoptFile(f File, from, to string) error {
	if isTable(f.Name) {
		st, err := c.fs.Stat(from)
		if err != nil {
			return err
		}
		if st.Size() != f.SizeBytes {
			return fmt.Errorf("%w: %d bytes, want %d", ErrInvalid, st.Size(), f.SizeBytes)
		}
		return c.fs.Link(from, c.fs.PathJoin(to, f.Name))
	}
	content, err := datadir.ReadFile(c.fs, from)
	if err != nil {
		return err
	}
	if crc := crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)); crc != f.CRC32C || int64(len(content)) != f.SizeBytes {
		return fmt.Errorf("%w: it was changed", ErrInvalid)
	}
	return datadir.WriteFile(c.fs, to, f.Name, content)
}
