package transfer

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// Inbox receives snapshots into a directory, one at a time. What it has of one it uses for the next: files of the same name,
// size and checksum are not sent again.
type Inbox struct {
	fs  vfs.FS
	dir string
	// own are the checkpoints of this member's state, which lend their files; nil lends none.
	own *checkpoint.Catalogue
	// missing is how much of present is not here yet. Whoever asks does not wait for a snapshot that is being compared.
	missing atomic.Int64

	mu      sync.Mutex // guards what follows, and the files of present
	present *incoming
	streams uint64 // numbers the streams, so that only the last one writes
	// complete are the snapshots that are whole, by name. Somebody was told of each.
	complete map[string]*checkpoint.Manifest
	// remains are the directories of snapshots that nobody sends any more, by name.
	remains map[string]*checkpoint.Manifest
	// distrusted are files whose content was not what their checksum says. They are not used again before they come anew.
	distrusted map[checkpoint.File]bool
}

// incoming is a snapshot of which a part is here.
type incoming struct {
	content  string // the same for the same snapshot
	name     string // of its directory, used once
	manifest *checkpoint.Manifest
	files    map[string]checkpoint.File // by name, as they should be
	have     map[string]int64           // bytes by name, as they are
	file     vfs.File                   // the one being written; nil for none
	fileName string
	stream   uint64
}

// OpenInbox receives into dir, which is made when the first snapshot comes. What an earlier process received stays for the
// next snapshot.
func OpenInbox(fs vfs.FS, dir string, own *checkpoint.Catalogue) (*Inbox, error) {
	in := &Inbox{
		fs: fs, dir: dir, own: own,
		complete: map[string]*checkpoint.Manifest{}, distrusted: map[checkpoint.File]bool{},
	}
	var err error
	in.remains, err = findRemains(fs, dir)
	return in, err
}

// Reception is one stream that brings a snapshot.
type Reception struct {
	in     *Inbox
	stream uint64
	// Have is what is here already.
	Have []*peerv1.SnapshotFileProgress
	// Manifest says what the snapshot is.
	Manifest *checkpoint.Manifest
	// ReusedBytes is how much of it was taken over from other snapshots and from the member's own state when it began; 0 if
	// it had begun before.
	ReusedBytes int64
	// MissingBytes is how much of it the stream has to bring.
	MissingBytes int64
}

// Begin takes up a snapshot with this manifest: where it stopped if it is the one that was being received, else with what is
// here of it. Streams that are still open are cut off.
func (in *Inbox) Begin(raw []byte) (*Reception, error) {
	m, err := checkpoint.DecodeManifest(raw)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.streams++
	r := &Reception{in: in}
	content := fmt.Sprintf("%s-%08x", m.Name(), crc32.Checksum(raw, castagnoli))
	if in.present == nil || in.present.content != content {
		if r.ReusedBytes, err = in.start(content, raw, m); err != nil {
			return nil, err
		}
	}
	p := in.present
	p.stream = in.streams
	r.stream, r.Manifest, r.MissingBytes = p.stream, p.manifest, p.missing()
	in.missing.Store(r.MissingBytes)
	for _, f := range p.manifest.Files {
		if size, ok := p.have[f.Name]; ok {
			r.Have = append(r.Have, &peerv1.SnapshotFileProgress{File: f.Name, SizeBytes: uint64(size)})
		}
	}
	return r, nil
}

// start makes the directory of a new snapshot, with what is here of it, and returns how much that is. What was here of others
// is removed then. A crash leaves directories of which the next start makes use, whatever they hold. The caller holds mu.
func (in *Inbox) start(content string, raw []byte, m *checkpoint.Manifest) (int64, error) {
	if err := in.putAside(); err != nil {
		return 0, err
	}
	name := in.freeName(content)
	dir := in.fs.PathJoin(in.dir, name)
	if err := in.fs.RemoveAll(dir); err != nil {
		return 0, fmt.Errorf("receive snapshot: %w", err)
	}
	if err := in.fs.MkdirAll(checkpoint.DataPath(in.fs, dir), 0o700); err != nil {
		return 0, fmt.Errorf("receive snapshot: %w", err)
	}
	if err := checkpoint.WriteManifestRaw(in.fs, dir, raw); err != nil {
		return 0, err
	}
	p := &incoming{
		content: content, name: name, manifest: m, files: map[string]checkpoint.File{}, have: map[string]int64{},
	}
	for _, f := range m.Files {
		p.files[f.Name] = f
	}
	reused, err := in.reuse(p)
	if err != nil {
		return 0, err
	}
	in.present = p
	return reused, in.removeRemains(func(*checkpoint.Manifest) bool { return true })
}

// missing returns how many bytes are not here yet.
func (p *incoming) missing() int64 {
	sum := p.manifest.SizeBytes()
	for _, size := range p.have {
		sum -= size
	}
	return sum
}

// MissingBytes returns how much of the snapshot that is being received is not here yet; 0 if none is.
func (in *Inbox) MissingBytes() int64 { return in.missing.Load() }

// putAside gives up the snapshot that is being received, and leaves what is here of it for another. The caller holds mu.
func (in *Inbox) putAside() error {
	p := in.present
	if p == nil {
		return nil
	}
	in.present = nil
	in.missing.Store(0)
	in.remains[p.name] = p.manifest
	return p.closeFile()
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
	file, ok := p.files[m.GetFile()]
	want, have := file.SizeBytes, p.have[m.GetFile()]
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
		if err := r.in.open(p, m.GetFile()); err != nil {
			return err
		}
	}
	if _, err := p.file.WriteAt(m.GetData(), have); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	p.have[m.GetFile()] = end
	r.in.missing.Add(-int64(len(m.GetData())))
	if end == want {
		delete(r.in.distrusted, file)
		return p.closeFile()
	}
	return nil
}

// open begins the next file, or goes on with one that was left. The caller holds mu.
func (in *Inbox) open(p *incoming, name string) (err error) {
	if err = p.closeFile(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	path := in.fs.PathJoin(checkpoint.DataPath(in.fs, in.fs.PathJoin(in.dir, p.name)), name)
	var f vfs.File
	if p.have[name] > 0 {
		f, err = in.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	} else if err = in.remove(path); err == nil {
		// A file that is here may have other names, under which it must stay as it is.
		f, err = in.fs.Create(path, vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	p.file, p.fileName = f, name
	return nil
}

// Finish checks that everything is here, as the manifest says, makes it durable and returns its name in the directory.
// Files that are not what their checksums say are dropped, and have to be sent again.
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
		return "", errors.Join(err, in.distrust(p, err))
	}
	if err := datadir.SyncDir(in.fs, in.dir); err != nil {
		return "", err
	}
	in.present = nil
	in.complete[p.name] = p.manifest
	clear(in.distrusted)
	return p.name, nil
}

// Drop removes a snapshot that is complete, and of no use to anybody.
func (in *Inbox) Drop(name string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	m, ok := in.complete[name]
	if !ok {
		return nil // It was passed and removed.
	}
	delete(in.complete, name)
	in.remains[name] = m
	return in.removeRemains(func(other *checkpoint.Manifest) bool { return other == m })
}

// Clean removes the snapshots that the state at the applied index has passed. A later one may be about to be installed, or
// be of use to the next.
func (in *Inbox) Clean(applied uint64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	passed := func(m *checkpoint.Manifest) bool { return m.Index <= applied }
	if in.present != nil && passed(in.present.manifest) {
		if err := in.putAside(); err != nil {
			return err
		}
	}
	for name, m := range in.complete {
		if passed(m) {
			delete(in.complete, name)
			in.remains[name] = m
		}
	}
	return in.removeRemains(passed)
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
