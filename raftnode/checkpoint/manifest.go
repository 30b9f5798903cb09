package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

// ErrInvalid says that a checkpoint is not what its manifest says.
var ErrInvalid = errors.New("checkpoint is invalid")

const (
	// formatVersion is the format of manifests.
	formatVersion = 1

	manifestFile = "MANIFEST.json"
	dataDir      = "data"
)

// Manifest says what a checkpoint holds.
type Manifest struct {
	// Format is 1. A higher one is refused.
	Format int `json:"format"`
	// Index and Term name the last entry that the checkpoint contains.
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	// ConfState is the marshalled raftpb.ConfState as of Index.
	ConfState []byte `json:"conf_state"`
	// ClusterVersion is what a receiver must be able to follow.
	ClusterVersion uint32 `json:"cluster_version"`
	// Files are the files in the data directory, by name.
	Files []File `json:"files"`
	// CRC32C is the checksum of the manifest with a zero in this field. WriteManifest sets it.
	CRC32C uint32 `json:"crc32c"`
}

// File is one file of a checkpoint.
type File struct {
	Name      string `json:"name"`
	SizeBytes int64  `json:"size_bytes"`
	CRC32C    uint32 `json:"crc32c"`
}

// Name returns the name under which a catalogue keeps the checkpoint.
func (m *Manifest) Name() string { return checkpointName(m.Index, m.Term) }

// Serves reports whether a member can begin with the checkpoint: the log goes on behind it, as far as it was not cut, and
// it names the members that there are now. Raft passes a snapshot over whose members its receiver does not belong to.
func (m *Manifest) Serves(cut uint64, confState []byte) bool {
	return m.Index >= cut && bytes.Equal(m.ConfState, confState)
}

// SizeBytes returns the size of all files.
func (m *Manifest) SizeBytes() int64 {
	sum := int64(0)
	for _, f := range m.Files {
		sum += f.SizeBytes
	}
	return sum
}

// ReadManifest reads the manifest of the checkpoint in dir.
func ReadManifest(fs vfs.FS, dir string) (*Manifest, error) {
	_, m, err := ReadManifestRaw(fs, dir)
	return m, err
}

// ReadManifestRaw also returns the manifest's bytes, as they are sent to other members.
func ReadManifestRaw(fs vfs.FS, dir string) ([]byte, *Manifest, error) {
	raw, err := datadir.ReadFile(fs, fs.PathJoin(dir, manifestFile))
	if err != nil {
		return nil, nil, fmt.Errorf("read manifest: %w", err)
	}
	m, err := DecodeManifest(raw)
	return raw, m, err
}

// DecodeManifest reads a manifest and refuses one that was changed.
func DecodeManifest(raw []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", ErrInvalid, err)
	}
	if m.Format != formatVersion || m.Index == 0 || m.Term == 0 {
		return nil, fmt.Errorf("%w: manifest of format %d, index %d, term %d", ErrInvalid, m.Format, m.Index, m.Term)
	}
	// The same manifest has one text only, so a changed byte shows whatever it stands for.
	again, err := m.encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, raw) {
		return nil, fmt.Errorf("%w: manifest does not have its checksum", ErrInvalid)
	}
	for _, f := range m.Files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, `/\`) || f.SizeBytes < 0 {
			return nil, fmt.Errorf("%w: file name %q", ErrInvalid, f.Name)
		}
	}
	return m, nil
}

// encode writes a manifest with its checksum, always the same way.
func (m *Manifest) encode() ([]byte, error) {
	c := *m
	c.CRC32C = 0
	raw, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	c.CRC32C = crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli))
	if raw, err = json.MarshalIndent(&c, "", " "); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return raw, nil
}

// WriteManifest writes a manifest durably.
func WriteManifest(fs vfs.FS, dir string, m *Manifest) error {
	raw, err := m.encode()
	if err != nil {
		return err
	}
	return WriteManifestRaw(fs, dir, raw)
}

// WriteManifestRaw writes a manifest durably that another member encoded.
func WriteManifestRaw(fs vfs.FS, dir string, raw []byte) error {
	return datadir.WriteFile(fs, dir, manifestFile, raw)
}

// DataPath returns the directory of a checkpoint's files.
func DataPath(fs vfs.FS, dir string) string { return fs.PathJoin(dir, dataDir) }

// DamageError names the files of a checkpoint that are not what its manifest says.
type DamageError struct {
	// Files are their names; none is there twice.
	Files []string
	err   error // what is wrong with the first
}

// Error says what is wrong with the first file.
func (e *DamageError) Error() string {
	text := fmt.Sprintf("%v: %v", ErrInvalid, e.err)
	if more := len(e.Files) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Unwrap returns ErrInvalid and what was found of the first file.
func (e *DamageError) Unwrap() []error { return []error{ErrInvalid, e.err} }

func (e *DamageError) add(name string, err error) *DamageError {
	if e == nil {
		e = &DamageError{err: err}
	}
	e.Files = append(e.Files, name)
	return e
}

// Verify reads every file of the checkpoint in dir, compares it with the manifest and makes it durable. Files that do not
// fit are named by a DamageError.
func Verify(fs vfs.FS, dir string) (*Manifest, error) {
	m, err := ReadManifest(fs, dir)
	if err != nil {
		return nil, err
	}
	data := DataPath(fs, dir)
	names, err := fs.List(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(names) != len(m.Files) {
		return nil, fmt.Errorf("%w: %d files, the manifest names %d", ErrInvalid, len(names), len(m.Files))
	}
	var damage *DamageError
	for _, want := range m.Files {
		got, err := sum(fs, data, want.Name, true)
		if err == nil && got != want {
			err = fmt.Errorf("file %s has %d bytes with checksum %08x, want %d with %08x",
				want.Name, got.SizeBytes, got.CRC32C, want.SizeBytes, want.CRC32C)
		}
		if err != nil {
			damage = damage.add(want.Name, err)
		}
	}
	if damage != nil {
		return nil, damage
	}
	if err := errors.Join(datadir.SyncDir(fs, data), datadir.SyncDir(fs, dir)); err != nil {
		return nil, err
	}
	return m, nil
}

// isTable reports whether a file is one that its database writes once and never changes.
func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// sumAll describes every file of a directory. Tables never change, so those that known describes are not read again.
func sumAll(fs vfs.FS, dir string, known map[string]File) ([]File, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list checkpoint: %w", err)
	}
	slices.Sort(names)
	files := make([]File, 0, len(names))
	for _, name := range names {
		if f, ok := known[name]; ok && isTable(name) {
			if st, err := fs.Stat(fs.PathJoin(dir, name)); err == nil && st.Size() == f.SizeBytes {
				files = append(files, f)
				continue
			}
		}
		f, err := sum(fs, dir, name, false)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// sum reads one file, and syncs it if asked.
func sum(fs vfs.FS, dir, name string, sync bool) (_ File, err error) {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("read %s: %w", name, cerr)
		}
	}()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(h, f)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", name, err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			return File{}, fmt.Errorf("sync %s: %w", name, err)
		}
	}
	return File{Name: name, SizeBytes: n, CRC32C: h.Sum32()}, nil
}
