package sim

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// World is one run.
type World struct {
	plan *Plan
	now  time.Duration
	heap eventHeap
	seq  uint64

	members  []*member // by order of birth; ids are never reused
	clients  []*client
	sessions map[storage.SessionID]*session // all that any client has asked for
	machines []*machine                     // that take part in gossip
	net      *network
	cache    *pebble.Cache
	raftDice *rand.ChaCha8

	trace  hash.Hash64
	log    func(string)
	truth  *truth
	floors Floors
	broken []check.Violation // promises that were seen to be broken during the run
	quiet  bool              // no more faults
	// wrecked says that an invariant of the product broke: the run ended in the middle of something.
	wrecked bool
	silent  bool // clients have nothing more to ask
	steps   uint64
	backup  *backup // nil until one was taken

	compactTarget uint64                   // highest revision up to which an operator asked to forget history
	watching      map[*client]*check.Watch // those that go on
	calm          time.Duration            // from then on nothing is disturbed and one member leads, unless it is moved again

	confIndex uint64 // applied index of the newest configuration that somebody looked at
}

// event is something that will happen.
type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds an event.
func (h *eventHeap) Push(x any) {
	e, _ := x.(event)
	*h = append(*h, e)
}

// Pop takes the last event.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

// dice returns a source of its own for one concern, so that leaving a fault out does not change what others draw.
func (w *World) dice(concern string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(concern))
	return rand.New(rand.NewPCG(w.plan.Seed, h.Sum64())) //nolint:gosec // It must be repeatable.
}

// after lets something happen later.
func (w *World) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.heap, event{at: w.now + max(d, 0), seq: w.seq, do: do})
}

// runUntil lets everything happen up to a time, or until a promise is broken.
func (w *World) runUntil(t time.Duration) {
	for len(w.heap) > 0 && w.heap[0].at <= t && len(w.broken) == 0 {
		e, _ := heap.Pop(&w.heap).(event)
		w.now = e.at
		w.steps++
		e.do()
	}
	if len(w.broken) == 0 {
		w.now = t
	}
}

// note adds something that happened to the trace.
func (w *World) note(what string, numbers ...uint64) {
	var b [8]byte
	add := func(n uint64) {
		binary.LittleEndian.PutUint64(b[:], n)
		_, _ = w.trace.Write(b[:])
	}
	add(uint64(w.now))
	_, _ = w.trace.Write([]byte(what))
	for _, n := range numbers {
		add(n)
	}
	if w.log != nil {
		w.log(fmt.Sprintf("%12.6f %s %v", w.now.Seconds(), what, numbers))
	}
}

// tell adds a line for people to the trace's log.
func (w *World) tell(format string, args ...any) {
	if w.log != nil {
		w.log(fmt.Sprintf("%12.6f %s", w.now.Seconds(), fmt.Sprintf(format, args...)))
	}
}

// violated ends the run.
func (w *World) violated(checker, format string, args ...any) {
	v := check.Violation{Checker: checker, Text: fmt.Sprintf(format, args...)}
	w.broken = append(w.broken, v)
	w.tell("VIOLATION %s", v)
}

// expo draws a duration of which most are short and a few long.
func expo(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// between draws a duration.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.Int64N(int64(high-low)))
}
