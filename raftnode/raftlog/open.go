package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/internal/database"
)

// Options says where the log is and how much memory it may use.
type Options struct {
	// FS holds the directory; nil is the disk.
	FS vfs.FS
	// Dir is the log's own directory, created when missing.
	Dir string
	// Logger takes Pebble's messages; nil logs nothing.
	Logger *zap.Logger
	// MemTableSize bounds one memtable; 0 is 16 MiB.
	MemTableSize uint64
	// TailBytesMax and TailEntriesMax bound the entries kept in memory; 0 is 16 MiB and 50 000.
	TailBytesMax   int
	TailEntriesMax int
}

const (
	memTableSizeDefault   = 16 << 20
	memTablesMax          = 8
	cacheBytes            = 1 << 20
	tailBytesMaxDefault   = 16 << 20
	tailEntriesMaxDefault = 50_000
	// pebbleFormat is pinned: newer tables would lock older programs out. It tells a torn end of the write-ahead log
	// from damage in its middle.
	pebbleFormat = pebble.FormatWALSyncChunks
)

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.MemTableSize == 0 {
		o.MemTableSize = memTableSizeDefault
	}
	if o.TailBytesMax == 0 {
		o.TailBytesMax = tailBytesMaxDefault
	}
	if o.TailEntriesMax == 0 {
		o.TailEntriesMax = tailEntriesMaxDefault
	}
}

// Open opens the log, or makes an empty one, and checks that its entries are contiguous.
func Open(o Options) (*Log, error) {
	o.setDefaults()
	l := &Log{
		failed: make(chan struct{}),
		tail:   tail{bytesMax: o.TailBytesMax, entriesMax: o.TailEntriesMax},
	}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	logger := pebbleLogger{log: o.Logger, failed: func(err error) { _ = l.fail(err) }}
	po := &pebble.Options{
		FS:                          o.FS,
		Cache:                       cache,
		FormatMajorVersion:          pebbleFormat,
		Logger:                      logger,
		MemTableSize:                o.MemTableSize,
		MemTableStopWritesThreshold: memTablesMax,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
	}
	po.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { o.Logger.Warn("raft log background error", zap.Error(err)) },
		DataCorruption:  func(info pebble.DataCorruptionInfo) { l.setFailure(database.Damage(info, ErrCorrupt)) },
	}
	if err := checkWAL(o.FS, o.Dir, o.Logger); err != nil {
		return nil, err
	}
	if err := checkManifest(o); err != nil {
		return nil, err
	}
	if err := prepare(o.Dir, po); err != nil {
		return nil, fmt.Errorf("make raft log: %w", err)
	}
	db, err := database.Open(o.Dir, po, ErrCorrupt)
	if err != nil {
		return nil, fmt.Errorf("open raft log: %w", err)
	}
	l.db = db
	if err := l.load(); err != nil {
		return nil, errors.Join(err, database.Close(db))
	}
	return l, nil
}

// prepare gives a directory its format before anything is written there. Pebble makes the write-ahead log before it raises
// the format, and whether that log says how far it was synced is decided when it is made: without that, damage in its middle
// cannot be told from its end.
func prepare(dir string, po *pebble.Options) error {
	// What cannot be looked at is told when it is opened.
	if d, err := pebble.Peek(dir, po.FS); err == nil && d.Exists && d.FormatMajorVersion >= pebbleFormat {
		return nil
	}
	db, err := database.Open(dir, po, ErrCorrupt)
	if err != nil {
		return err
	}
	return database.Close(db)
}

func (l *Log) load() error {
	fresh, err := l.loadFormat()
	if err != nil || fresh {
		return err
	}
	if v, err := l.get(truncatedKey); err != nil {
		return err
	} else if v != nil {
		if l.truncated, err = decodeEntryID("truncation", v); err != nil {
			return err
		}
	}
	if v, err := l.get(hardStateKey); err != nil {
		return err
	} else if v != nil {
		if l.hs, err = decodeHardState(v); err != nil {
			return err
		}
	}
	if err := l.loadSizes(); err != nil {
		return err
	}
	return l.loadTail()
}

// loadFormat checks the format record, or writes it into an empty log.
func (l *Log) loadFormat() (fresh bool, err error) {
	v, err := l.get(formatKey)
	if err != nil {
		return false, err
	}
	if v != nil {
		return false, checkFormat("log", v)
	}
	it, err := l.db.NewIter(nil)
	if err != nil {
		return false, readFailed(err)
	}
	empty := !it.First()
	if err := it.Close(); err != nil {
		return false, readFailed(err)
	}
	if !empty {
		return false, fmt.Errorf("%w: the format record is missing", ErrCorrupt)
	}
	b := l.db.NewBatch()
	if err := b.Set(formatKey, []byte{formatVersion}, nil); err != nil {
		return false, fmt.Errorf("write format: %w", err)
	}
	return true, l.commit(b, true)
}

// loadSizes walks over all entries without reading their values and checks that none is missing.
func (l *Log) loadSizes() (err error) {
	l.last = l.truncated.Index
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(0), UpperBound: []byte{entryPrefix + 1}})
	if err != nil {
		return readFailed(err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = readFailed(cerr)
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		index, err := entryKeyIndex(it.Key())
		if err != nil {
			return err
		}
		if index != l.last+1 {
			return fmt.Errorf("%w: entry %d follows %d", ErrCorrupt, index, l.last)
		}
		lazy := it.LazyValue()
		l.sizer.add(index, lazy.Len()+entryOverhead)
		l.last = index
	}
	if err := it.Error(); err != nil {
		return readFailed(err)
	}
	return nil
}

// loadTail reads the newest entries into memory, from the end backwards until the bounds are reached.
func (l *Log) loadTail() (err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(0), UpperBound: []byte{entryPrefix + 1}})
	if err != nil {
		return readFailed(err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = readFailed(cerr)
		}
	}()
	var newest []*raftpb.Entry
	size := 0
	for ok := it.Last(); ok && size < l.tail.bytesMax && len(newest) < l.tail.entriesMax; ok = it.Prev() {
		index, err := entryKeyIndex(it.Key())
		if err != nil {
			return err
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return readFailed(err)
		}
		e, err := decodeEntry(index, v)
		if err != nil {
			return err
		}
		newest = append(newest, e)
		size += entrySize(e)
	}
	for i := range slices.Backward(newest) {
		l.tail.append(newest[i : i+1])
	}
	return nil
}

// PendingInstall returns the snapshot whose installation a crash interrupted.
func (l *Log) PendingInstall() (Install, bool, error) {
	v, err := l.get(installKey)
	if err != nil || v == nil {
		return Install{}, false, err
	}
	in, err := decodeInstall(v)
	return in, err == nil, err
}

// EndInstall forgets a pending installation. It is synced, so that it is not done again over newer state.
func (l *Log) EndInstall() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	b := l.db.NewBatch()
	if err := b.Delete(installKey, nil); err != nil {
		return l.fail(err)
	}
	return l.commit(b, true)
}

// get returns a copy of a record, nil when it does not exist.
func (l *Log) get(key []byte) ([]byte, error) {
	v, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, readFailed(err)
	}
	v = bytes.Clone(v)
	if err := closer.Close(); err != nil {
		return nil, readFailed(err)
	}
	return v, nil
}

// Bootstrap makes an empty log begin behind a synthetic entry, which the first state machine already contains.
func (l *Log) Bootstrap(id EntryID) error {
	b := l.NewBatch()
	if err := b.Reset(Install{ID: id}); err != nil {
		return err
	}
	if err := b.b.Delete(installKey, nil); err != nil {
		return l.fail(err)
	}
	if err := b.SetHardState(&raftpb.HardState{Term: new(id.Term), Commit: new(id.Index)}); err != nil {
		return err
	}
	return b.Commit(true)
}
