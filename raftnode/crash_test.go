package raftnode_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

const (
	sweepWorkers       = 4
	sweepPointsPerLife = 25
	sweepCommandsMax   = 600 // of one life, for lives in which no more points come
)

// sweep kills a member at random moments again and again, and looks at what is there afterwards. A life of the member
// begins on a disk that an earlier crash left behind. While it runs commands, copies of its disk are taken in the
// middle of writes, as a crash would leave them: with none, some or all of what was not synced. Each copy is opened.
type sweep struct {
	seed uint64

	model    *model
	rng      *rand.Rand
	points   int
	byLoss   map[string]int // crash points by what survived
	acks     int            // commands acknowledged
	replayed int            // entries applied again by recovered members and compared with their first results
	summed   int            // checksums compared
	cuts     int            // lives in which the log was cut
}

// point is a disk after a crash, and what clients knew at that moment.
type point struct {
	fs    *vfs.MemFS
	known knowledge
	loss  string
}

// apartFS keeps crash clones apart from three operations in which MemFS takes the lock that CrashClone waits for twice:
// with a clone between the two neither would go on.
type apartFS struct {
	vfs.FS
	mu *sync.RWMutex // held by a clone, shared by those operations
}

func (a apartFS) Link(from, to string) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.Link(from, to)
}

func (a apartFS) Lock(name string) (io.Closer, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.Lock(name)
}

func (a apartFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.ReuseForWrite(from, to, category)
}

// taker takes crash points from inside the member's own writes.
type taker struct {
	mem   *vfs.MemFS
	model *model
	gap   int // one write in so many, on average
	apart sync.RWMutex

	mu     sync.Mutex // guards what follows
	rng    *rand.Rand
	points []point
	max    int
}

// MaybeError is called before each operation on the disk. It never fails one.
func (tk *taker) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	tk.mu.Lock()
	defer tk.mu.Unlock()
	if len(tk.points) < tk.max && tk.rng.IntN(tk.gap) == 0 {
		tk.take()
	}
	return nil
}

// String names the injector.
func (tk *taker) String() string { return "crash points" }

func (tk *taker) take() {
	tk.model.mu.Lock()
	defer tk.model.mu.Unlock()
	percent, loss := 0, "nothing unsynced"
	switch tk.rng.IntN(3) {
	case 1:
		percent, loss = 30+tk.rng.IntN(21), "some unsynced"
	case 2:
		percent, loss = 100, "all unsynced"
	}
	tk.apart.Lock()
	defer tk.apart.Unlock()
	clone := tk.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: tk.rng})
	tk.points = append(tk.points, point{fs: clone, known: tk.model.knowledge(), loss: loss})
}

func (tk *taker) full() bool {
	tk.mu.Lock()
	defer tk.mu.Unlock()
	return len(tk.points) >= tk.max
}

// memory remembers what a member answered, by log index.
type memory struct {
	mu      sync.Mutex // guards what follows
	results map[uint64][sha256.Size]byte
	sums    map[uint64]uint64
}

func newMemory() *memory {
	return &memory{results: map[uint64][sha256.Size]byte{}, sums: map[uint64]uint64{}}
}

func (m *memory) learn(o storage.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range o.Entries {
		m.results[e.Index] = digest(e)
	}
	m.sums[o.Applied.Index] = o.Applied.Checksum
}

func digest(e storage.EntryOutcome) [sha256.Size]byte {
	h := sha256.New()
	for _, r := range e.Results {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			panic(err) // a result of our own
		}
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// compare holds a batch that a recovered member applied again against the first time.
func (m *memory) compare(o storage.Outcome, last uint64) (entries, sums int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range o.Entries {
		want, ok := m.results[e.Index]
		if e.Index > last || !ok {
			continue
		}
		if digest(e) != want {
			return 0, 0, fmt.Errorf("entry %d has other results when it is applied again", e.Index)
		}
		entries++
	}
	if want, ok := m.sums[o.Applied.Index]; ok && o.Applied.Index <= last {
		if o.Applied.Checksum != want {
			return 0, 0, fmt.Errorf("checksum at index %d is %x, was %x", o.Applied.Index, o.Applied.Checksum, want)
		}
		sums++
	}
	return entries, sums, nil
}

func newSweep(seed uint64) *sweep {
	return &sweep{
		seed: seed, model: newModel(seed, sweepWorkers),
		rng: rand.New(rand.NewPCG(seed, 99)), byLoss: map[string]int{},
	}
}

func (s *sweep) options(fs vfs.FS) raftnode.Options {
	o := raftnode.Options{FS: fs, Dir: "/data", CheckpointLogBytes: 8 << 10}
	return raftnode.WithLogMemTable(o, 64<<10)
}

// run lives and dies until so many crash points were looked at, or one shows a violation.
func (s *sweep) run(points int) error {
	disk := vfs.NewCrashableMem()
	for life := 0; s.points < points; life++ {
		next, err := s.life(disk, life)
		if err != nil {
			return fmt.Errorf("seed %d, life %d: %w", s.seed, life, err)
		}
		disk = next
		// Now and then a new cluster, so that first starts are hit too.
		if life%8 == 7 {
			disk = vfs.NewCrashableMem()
			s.model = newModel(s.seed+uint64(life), sweepWorkers)
		}
	}
	return nil
}

// life runs one member and looks at its crash points. It returns the disk of one of them.
func (s *sweep) life(disk *vfs.MemFS, life int) (*vfs.MemFS, error) {
	tk := &taker{
		mem: disk, model: s.model, gap: 4 + s.rng.IntN(40), max: sweepPointsPerLife,
		rng: rand.New(rand.NewPCG(s.seed, uint64(1000+life))),
	}
	mem := newMemory()
	if err := s.work(errfs.Wrap(apartFS{FS: disk, mu: &tk.apart}, tk), tk, mem); err != nil {
		return nil, err
	}
	if len(tk.points) == 0 {
		return disk, nil
	}
	chosen := s.rng.IntN(len(tk.points))
	var next *vfs.MemFS
	var found []claim
	for i, p := range tk.points {
		if i == chosen {
			next = p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: s.rng})
		}
		got, err := s.verify(p, mem)
		if err != nil {
			// As opposed to a sweep that could not run.
			return nil, fmt.Errorf("a promise broke: crash point %d of %d (%s survives): %w", i, len(tk.points), p.loss, err)
		}
		if i == chosen {
			found = got
		}
		s.points++
		s.byLoss[p.loss]++
	}
	s.model.adopt(found, tk.points[chosen].known.revision)
	return next, nil
}

// work opens a member and runs commands until enough crash points are taken.
func (s *sweep) work(fs vfs.FS, tk *taker, mem *memory) error {
	o := s.options(fs)
	o.OnApplied = mem.learn
	n, err := raftnode.Open(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	if err := n.ReadIndex(ctx); err != nil {
		return errors.Join(err, <-ended)
	}
	results := make(chan error, len(s.model.workers))
	for _, w := range s.model.workers {
		go func() {
			for i := 0; i < sweepCommandsMax/sweepWorkers && !tk.full(); i++ {
				ok, err := s.model.step(ctx, n, w)
				if err != nil || !ok {
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	var errs []error
	for range s.model.workers {
		errs = append(errs, <-results)
	}
	if n.Status().FirstIndex > 2 {
		s.cuts++
	}
	for _, w := range s.model.workers {
		s.acks += w.count
	}
	cancel()
	return errors.Join(append(errs, <-ended)...)
}

// verify opens a crash point as a new process would, and checks everything clients were told.
func (s *sweep) verify(p point, mem *memory) (found []claim, err error) {
	o := s.options(p.fs)
	var last uint64
	var wrong error
	o.OnApplied = func(out storage.Outcome) {
		entries, sums, cerr := mem.compare(out, last)
		wrong = errors.Join(wrong, cerr)
		s.replayed += entries
		s.summed += sums
	}
	n, err := raftnode.Open(o)
	if err != nil {
		return nil, err
	}
	last = n.Status().LastIndex
	if _, _, err = mem.compare(storage.Outcome{Applied: n.Store().Applied()}, last); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended, wrong)
	}()
	if err = n.ReadIndex(ctx); err != nil {
		return nil, err
	}
	keys := make([]string, len(s.model.workers))
	for i, w := range s.model.workers {
		keys[i] = w.key
	}
	if found, err = p.known.check(n, keys); err != nil {
		return nil, err
	}
	before := n.Store().Applied().Revision
	res, err := n.Propose(ctx, put("after", "the crash"))
	if err != nil {
		return nil, fmt.Errorf("first put after the crash: %w", err)
	}
	if got, want := res.GetRevision(), before+1; got != want {
		return nil, fmt.Errorf("first put after the crash has revision %d, want %d", got, want)
	}
	return found, nil
}

func TestCrashSweep(t *testing.T) {
	points, seed := 1500, uint64(1)
	if testing.Short() || raceDetector {
		points = 200
	}
	// A soak sets a seed and a number of its own.
	for name, to := range map[string]any{"TENURE_CRASH_POINTS": &points, "TENURE_CRASH_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			if _, err := fmt.Sscan(text, to); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	s := newSweep(seed)
	err := s.run(points)
	t.Logf("%d crash points %v, %d commands, %d entries applied again, %d checksums compared, log cut in %d lives",
		s.points, s.byLoss, s.acks, s.replayed, s.summed, s.cuts)
	if err != nil {
		t.Fatal(err)
	}
	if s.replayed < points || s.summed < points/50 || s.cuts == 0 || len(s.byLoss) != 3 {
		t.Errorf("the sweep saw too little")
	}
}
