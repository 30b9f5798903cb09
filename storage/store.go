package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/database"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// pebbleFormat is the format of the files; checkpoints cross between members, so all must be able to read it.
	pebbleFormat = pebble.FormatValueSeparation
	// memTableSizeBytes bounds what must be applied again after a crash, and how often the state is flushed.
	memTableSizeBytes = 8 << 20
	// memTablesMax is how many of them may wait for their flush before Apply does.
	memTablesMax = 8
	// cacheSizeBytes is the size of the block cache that a store makes for itself. Pebble takes the memory of memtables
	// out of the cache: a cache that is not larger than they are keeps no block at all.
	cacheSizeBytes = 64<<20 + memTablesMax*memTableSizeBytes
	// bloomBitsPerKey makes reads of missing rows cheap; most keys have no lock.
	bloomBitsPerKey = 10
)

// Options says where a store lives.
type Options struct {
	// FS is the file system; nil is the disk.
	FS vfs.FS
	// Dir is the directory of the store; it is made if it is missing.
	Dir string
	// Cache is shared with other stores of the process; nil gives the store one of its own. It must be larger than the
	// memtables of all who share it, here 64 MiB at most.
	Cache *pebble.Cache
	// OnStall is called when the store begins to hold writes back, because too much of what was written before has not
	// reached the disk or was not merged, and OnStallEnd when it takes writes again. Both are called with locks of the
	// store held: they must not block, and call nothing of it. Nil tells nobody.
	OnStall, OnStallEnd func()
}

// Genesis is the first state of a new cluster.
type Genesis struct {
	// ClusterID and HistoryID are drawn at random.
	ClusterID, HistoryID [16]byte
	// ConfState is opaque: the first members, as raftnode marshals them.
	ConfState []byte
	// ClusterVersion is the version that the cluster starts with; zero is 1.
	ClusterVersion uint32
	// FreezeMs starts the cluster with grants frozen for so long, as counted by the leader; zero: not frozen.
	FreezeMs int64
}

// Store is the replicated state machine of one member. One goroutine calls Apply; everything else may be called from
// any goroutine.
type Store struct {
	// Rights say which changes of tokens, policies, bindings and the mode are applied.
	Rights Rights

	db         *pebble.DB
	fs         vfs.FS
	flushEnded chan struct{}
	background *background
	hot        *table.Hot          // of the goroutine of Apply
	keys       *requests.KnownKeys // of the goroutine of Apply
	gaps       *requests.Gaps      // of the goroutine of Apply
	voids      *table.Voids
	runs       *table.Runs // of the goroutine of Apply
	// writes is odd while an Apply is between what is committed and what is published. A reader that finds it even, and
	// unchanged around its snapshot, knows that the two are of one Apply.
	writes atomic.Uint64

	// applied is never changed, but replaced: every call reads it, several times.
	applied atomic.Pointer[Applied]

	// mu guards what follows. Nothing is called while it is held.
	mu      sync.Mutex
	idle    *sync.Cond // signalled when readers falls to zero
	sums    checksums
	closed  bool
	readers int
	failure error // of Apply; final
}

// background remembers the first error of Pebble's own goroutines, and the first damage that anybody found.
type background struct {
	failed chan struct{} // closed with the first error
	mu     sync.Mutex    // guards err
	err    error
}

func newBackground() *background {
	return &background{failed: make(chan struct{})}
}

// set keeps the first error: damage, or what Pebble could not do.
func (b *background) set(err error) {
	damage := database.Mark(err, ErrCorrupt)
	if !errors.Is(damage, ErrCorrupt) {
		damage = fmt.Errorf("%w: %w", ErrBackground, err)
	}
	b.keep(damage)
}

// damaged keeps damage that anybody found, unless something failed before.
func (b *background) damaged(info pebble.DataCorruptionInfo) {
	b.keep(database.Damage(info, ErrCorrupt))
}

func (b *background) keep(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		close(b.failed)
	}
}

func (b *background) get() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Infof drops what Pebble tells about its work.
func (b *background) Infof(string, ...any) {}

// Errorf drops what Pebble tells about errors that it also returns.
func (b *background) Errorf(string, ...any) {}

// Fatalf remembers what Pebble would end the process for; the next Apply returns it.
func (b *background) Fatalf(format string, args ...any) {
	b.set(fmt.Errorf(format, args...))
}

// Open opens the store in a directory, or makes an empty one, which then needs Bootstrap.
func Open(o Options) (*Store, error) {
	s := &Store{
		fs: o.FS, flushEnded: make(chan struct{}, 1), background: newBackground(),
		hot: table.NewHot(), keys: requests.NewKnownKeys(requests.KnownKeysMax), gaps: requests.NewGaps(), voids: table.NewVoids(),
	}
	s.idle = sync.NewCond(&s.mu)
	if s.fs == nil {
		s.fs = vfs.Default
	}
	cache := o.Cache
	if cache == nil {
		cache = pebble.NewCache(cacheSizeBytes)
		defer cache.Unref()
	}
	if _, err := checkManifest(s.fs, o.Dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := database.Open(o.Dir, s.pebbleOptions(o, cache), ErrCorrupt)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.db, s.runs = db, table.NewRuns(db)
	applied, err := readApplied(db)
	if err == nil {
		err = layout.CheckVersion(applied.ClusterVersion)
	}
	if err == nil && applied.StoreBytes == 0 {
		// Nothing is stored yet, or nobody counted: the count follows from the rows.
		applied.StoreBytes, err = countBytes(table.NewOverlay(db, 0))
	}
	if err != nil && !errors.Is(err, ErrNotBootstrapped) {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), database.Close(db))
	}
	s.applied.Store(&applied)
	s.Rights.follow(&applied)
	if err == nil {
		s.sums.add(applied.Index, applied.Checksum)
	}
	return s, nil
}

func (s *Store) pebbleOptions(own Options, cache *pebble.Cache) *pebble.Options {
	o := &pebble.Options{
		FS:                          s.fs,
		Cache:                       cache,
		DisableWAL:                  true,
		FormatMajorVersion:          pebbleFormat,
		MemTableSize:                memTableSizeBytes,
		MemTableStopWritesThreshold: memTablesMax,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		Logger:                      s.background,
		EventListener: &pebble.EventListener{
			BackgroundError: s.background.set,
			DataCorruption:  s.background.damaged,
			FlushEnd: func(info pebble.FlushInfo) {
				if info.Err != nil {
					return
				}
				select {
				case s.flushEnded <- struct{}{}:
				default:
				}
			},
		},
	}
	if own.OnStall != nil {
		o.EventListener.WriteStallBegin = func(pebble.WriteStallBeginInfo) { own.OnStall() }
		o.EventListener.WriteStallEnd = own.OnStallEnd
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBitsPerKey)
	}
	return o
}

// readApplied returns the applied record of a database or a snapshot of it.
func readApplied(disk pebble.Reader) (Applied, error) {
	value, ok, err := table.GetRow(disk, []byte{layout.RowApplied})
	if err != nil {
		return Applied{}, err
	}
	if !ok {
		return Applied{}, ErrNotBootstrapped
	}
	return layout.DecodeApplied(value)
}

// Bootstrap writes the first state of a new cluster, as of index 1 and term 1, and flushes it. All first members
// bootstrap with the same genesis.
func (s *Store) Bootstrap(g Genesis) error {
	if s.Applied().Index != 0 {
		return ErrBootstrapped
	}
	version := g.ClusterVersion
	if version == 0 {
		version = layout.Version1
	}
	if err := layout.CheckVersion(version); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	first := Applied{
		Index:          1,
		Term:           1,
		ConfState:      g.ConfState,
		ClusterVersion: version,
		ClusterID:      g.ClusterID,
		HistoryID:      g.HistoryID,
	}
	rows := table.NewOverlay(s.db, first.StoreBytes)
	if g.FreezeMs > 0 {
		value, err := layout.Encode(&storev1.FreezeRecord{FormatVersion: layout.RecordFormat, FreezeMs: g.FreezeMs})
		if err != nil {
			return fmt.Errorf("bootstrap: %w", err)
		}
		rows.Set([]byte{layout.RowFreeze}, value)
		first.StoreBytes = rows.Bytes
	}
	if err := s.commit(rows, first); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	if err := s.flush(); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	s.publish(first, first.Checksum)
	return nil
}

// Applied returns the state's account of itself after the last Apply.
func (s *Store) Applied() Applied { return *s.applied.Load() }

// publish makes the account of a state that is committed the present one. The checksums are those of its last entries.
func (s *Store) publish(a Applied, sums ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sum := range sums {
		s.sums.add(a.Index+1-uint64(len(sums)-i), sum)
	}
	s.Rights.follow(&a)
	s.applied.Store(&a)
}

// usable returns why Apply cannot go on, or nil.
func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.failure != nil:
		return s.failure
	case s.applied.Load().Index == 0:
		return ErrNotBootstrapped
	default:
		return s.background.get()
	}
}

// fail makes err the answer of every further Apply: what the store holds may be behind what was decided.
func (s *Store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
	return err
}

// Failed is closed when a flush or a merge failed, or anybody found damage. The store must be closed: Apply refuses from then on.
func (s *Store) Failed() <-chan struct{} { return s.background.failed }

// Err returns why Failed is closed, and nil before.
func (s *Store) Err() error { return s.background.get() }

// enter keeps Close from closing the database until leave.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.readers++
	return nil
}

func (s *Store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	if s.readers == 0 {
		s.idle.Broadcast()
	}
}

// DurableApplied returns the index up to which everything is flushed; the log behind it may be cut.
func (s *Store) DurableApplied() (uint64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound:                []byte{layout.RowApplied},
		UpperBound:                []byte{layout.RowApplied, 0},
		OnlyReadGuaranteedDurable: true,
	})
	if err != nil {
		return 0, fmt.Errorf("read durable index: %w", table.ReadError(err))
	}
	var a Applied
	if it.First() {
		a, err = layout.DecodeApplied(it.Value())
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		return 0, fmt.Errorf("read durable index: %w", table.ReadError(err))
	}
	return a.Index, nil
}

// FlushEnded signals after flushes; several may share one signal.
func (s *Store) FlushEnded() <-chan struct{} { return s.flushEnded }

// Flush writes everything applied so far to disk and waits for it.
func (s *Store) Flush() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.flush()
}

// flush waits until everything is on disk, or until Pebble could not do some work: a flush that fails would be tried
// again for ever.
func (s *Store) flush() error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	select {
	case <-flushed:
	case <-s.background.failed:
	}
	return s.background.get()
}

// AsyncFlush starts a flush and does not wait for it; FlushEnded tells when it ended.
func (s *Store) AsyncFlush() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if _, err := s.db.AsyncFlush(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// Close waits for readers to be closed and calls to return, then closes the store. It flushes nothing: what is not on
// disk comes again from the log.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	for s.readers > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if err := database.Close(s.db); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
