package transfer

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// Inbox receives snapshots into a directory, one at a time.
type Inbox struct {
	fs  vfs.FS
	dir string

	mu      sync.Mutex // guards what follows, and the files of present
	present *incoming
	streams uint64 // numbers the streams, so that only the last one writes
	// complete are the indexes of the snapshots that are whole, by name. Somebody was told of each.
	complete map[string]uint64
}

// incoming is a snapshot of which a part is here.
type incoming struct {
	content  string // the same for the same snapshot
	name     string // of its directory, used once
	manifest *checkpoint.Manifest
	files    map[string]int64 // size by name, as they should be
	have     map[string]int64 // as they are
	file     vfs.File         // the one being written; nil for none
	fileName string
	stream   uint64
}

// NewInbox receives into dir, which is made when the first snapshot comes.
func NewInbox(fs vfs.FS, dir string) *Inbox {
	return &Inbox{fs: fs, dir: dir, complete: map[string]uint64{}}
}

// Reception is one stream that brings a snapshot.
type Reception struct {
	in     *Inbox
	stream uint64
	// Have is what is here already.
	Have []*peerv1.SnapshotFileProgress
	// Manifest says what the snapshot is.
	Manifest *checkpoint.Manifest
}

// Begin takes up a snapshot with this manifest: where it stopped if it is the one that was being received, else from
// its beginning. Streams that are still open are cut off.
func (in *Inbox) Begin(raw []byte) (*Reception, error) {
	m, err := checkpoint.DecodeManifest(raw)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.streams++
	content := fmt.Sprintf("%s-%08x", m.Name(), crc32.Checksum(raw, castagnoli))
	if in.present == nil || in.present.content != content {
		if err := in.drop(); err != nil {
			return nil, err
		}
		if err := in.start(content, raw, m); err != nil {
			return nil, err
		}
	}
	p := in.present
	p.stream = in.streams
	r := &Reception{in: in, stream: p.stream, Manifest: p.manifest}
	for _, f := range p.manifest.Files {
		if size, ok := p.have[f.Name]; ok {
			r.Have = append(r.Have, &peerv1.SnapshotFileProgress{File: f.Name, SizeBytes: uint64(size)})
		}
	}
	return r, nil
}

// start makes the directory of a new snapshot. The caller holds mu.
func (in *Inbox) start(content string, raw []byte, m *checkpoint.Manifest) error {
	name := fmt.Sprintf("%s-%d", content, in.streams)
	dir := in.fs.PathJoin(in.dir, name)
	if err := in.fs.RemoveAll(dir); err != nil {
		return fmt.Errorf("receive snapshot: %w", err)
	}
	if err := in.fs.MkdirAll(checkpoint.DataPath(in.fs, dir), 0o700); err != nil {
		return fmt.Errorf("receive snapshot: %w", err)
	}
	if err := checkpoint.WriteManifestRaw(in.fs, dir, raw); err != nil {
		return err
	}
	p := &incoming{content: content, name: name, manifest: m, files: map[string]int64{}, have: map[string]int64{}}
	for _, f := range m.Files {
		p.files[f.Name] = f.SizeBytes
	}
	in.present = p
	return nil
}

// drop gives up the snapshot that is being received. The caller holds mu.
func (in *Inbox) drop() error {
	p := in.present
	if p == nil {
		return nil
	}
	in.present = nil
	err := p.closeFile()
	return errors.Join(err, in.fs.RemoveAll(in.fs.PathJoin(in.dir, p.name)))
}

func (p *incoming) closeFile() error {
	if p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	return f.Close()
}

// mine returns the snapshot if this stream is the one that brings it. The caller holds mu.
func (r *Reception) mine() (*incoming, error) {
	p := r.in.present
	if p == nil || p.stream != r.stream {
		return nil, ErrSuperseded
	}
	return p, nil
}

// Chunk takes the next part. An error of kind ErrBadChunk leaves what was received before.
func (r *Reception) Chunk(m *peerv1.SendSnapshotRequest) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	p, err := r.mine()
	if err != nil {
		return err
	}
	want, ok := p.files[m.GetFile()]
	have, begun := p.have[m.GetFile()]
	end := have + int64(len(m.GetData()))
	switch {
	case !ok:
		return fmt.Errorf("%w: the manifest has no file %q", ErrBadChunk, m.GetFile())
	case m.GetOffset() != uint64(have) || end > want || m.GetLast() != (end == want):
		return fmt.Errorf("%w: %d bytes of %s at %d, have %d of %d",
			ErrBadChunk, len(m.GetData()), m.GetFile(), m.GetOffset(), have, want)
	case crc32.Checksum(m.GetData(), castagnoli) != m.GetCrc32C():
		return fmt.Errorf("%w: checksum of %s at %d", ErrBadChunk, m.GetFile(), m.GetOffset())
	}
	if p.fileName != m.GetFile() || p.file == nil {
		if begun {
			return fmt.Errorf("%w: %s was left before", ErrBadChunk, m.GetFile())
		}
		if err := r.in.open(p, m.GetFile()); err != nil {
			return err
		}
	}
	if _, err := p.file.Write(m.GetData()); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	p.have[m.GetFile()] = end
	if end == want {
		return p.closeFile()
	}
	return nil
}

// open begins the next file. The caller holds mu.
func (in *Inbox) open(p *incoming, name string) error {
	if p.file != nil {
		return fmt.Errorf("%w: %s is not complete", ErrBadChunk, p.fileName)
	}
	path := in.fs.PathJoin(checkpoint.DataPath(in.fs, in.fs.PathJoin(in.dir, p.name)), name)
	f, err := in.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	p.file, p.fileName = f, name
	return nil
}

// Finish checks that everything is here, as the manifest says, makes it durable and returns its name in the directory.
// A snapshot that is damaged is dropped.
func (r *Reception) Finish() (string, error) {
	in := r.in
	in.mu.Lock()
	defer in.mu.Unlock()
	p, err := r.mine()
	if err != nil {
		return "", err
	}
	for _, f := range p.manifest.Files {
		if have, ok := p.have[f.Name]; !ok || have != f.SizeBytes {
			return "", fmt.Errorf("%w: %s has %d of %d bytes", ErrIncomplete, f.Name, have, f.SizeBytes)
		}
	}
	if _, err := checkpoint.Verify(in.fs, in.fs.PathJoin(in.dir, p.name)); err != nil {
		return "", errors.Join(err, in.drop())
	}
	if err := datadir.SyncDir(in.fs, in.dir); err != nil {
		return "", err
	}
	in.present = nil
	in.complete[p.name] = p.manifest.Index
	return p.name, nil
}

// Clean removes the complete snapshots that the state at the applied index has passed. A later one may be about to be
// installed.
func (in *Inbox) Clean(applied uint64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	passed := false
	var keep []string
	for name, index := range in.complete {
		if index > applied {
			keep = append(keep, name)
			continue
		}
		delete(in.complete, name)
		passed = true
	}
	if !passed {
		return nil
	}
	if in.present != nil {
		keep = append(keep, in.present.name)
	}
	return RemoveExcept(in.fs, in.dir, keep...)
}

// Close closes what is open, and leaves the files.
func (in *Inbox) Close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.present == nil {
		return nil
	}
	p := in.present
	in.present = nil
	return p.closeFile()
}

// RemoveExcept removes what lies in a directory but for some names. A directory that does not exist is empty.
func RemoveExcept(fs vfs.FS, dir string, keep ...string) error {
	if _, err := fs.Stat(dir); err != nil {
		return nil //nolint:nilerr // It is made when the first snapshot comes.
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list received snapshots: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.Contains(keep, name) {
			continue
		}
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil {
			return fmt.Errorf("remove received snapshot %s: %w", name, err)
		}
	}
	return nil
}
