package compaction

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	// interval is how often the leader looks at the history.
	interval = 10 * time.Second
	// The store is near its limit when what is left for growth is less than this part of the limit, or than marginBytesMax.
	marginPart     = 16
	marginBytesMax = 64 << 20
	// floorPart is the part of the store's limit that history may always take, however full the store is: without any, a
	// watch that is interrupted for a moment could not be resumed.
	floorPart = 64
	// History that takes too many bytes is cut to this part less than it may take, or to slackBytesMax less, so that not
	// every write needs a compaction.
	slackPart     = 8
	slackBytesMax = 16 << 20
	// samplesMax bounds how many revisions the leader remembers the time of.
	samplesMax = 4096
)

// Options says what the leader task works with. All fields but Logger are required.
type Options struct {
	// Propose puts a command into the log and returns its result once it is applied here.
	Propose func(ctx context.Context, c *storev1.Command) (*storev1.Result, error)
	// Applied returns the state's account of itself.
	Applied func() storage.Applied
	// Limits returns the replicated limits in force.
	Limits func() (*storev1.Limits, error)
	// Logger takes what an operator would note; nil logs nothing.
	Logger *zap.Logger
}

// Task proposes compactions while its member leads.
type Task struct {
	o   Options
	log *zap.Logger
	// room is what history may take as of the last look; nil while the member does not lead.
	room atomic.Pointer[room]
	wake chan struct{} // 1 slot
}

// New returns a task that does nothing until it leads.
func New(o Options) *Task {
	log := o.Logger
	if log == nil {
		log = zap.NewNop()
	}
	return &Task{o: o, log: log, wake: make(chan struct{}, 1)}
}

// Publish sees the outcome of every Apply. While the member leads, and history takes more than it may, or what it may take has
// changed, it has the task look at once. It does not block.
func (t *Task) Publish(o storage.Outcome) {
	if r := t.room.Load(); r == nil || !o.LimitsChanged && o.Applied.HistoryBytes <= r.bytes(o.Applied) {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Lead is a leader task: it runs until ctx ends.
func (t *Task) Lead(ctx context.Context, _ uint64) error {
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen timeline
	defer t.room.Store(nil)
	for {
		limits, err := t.o.Limits()
		if err != nil {
			return fmt.Errorf("compaction: %w", err)
		}
		r := roomOf(limits)
		t.room.Store(&r)
		now := time.Since(began)
		if err := t.compact(ctx, keep{
			revisions: limits.GetHistoryRevisions(),
			room:      r,
			since:     seen.before(now - time.Duration(limits.GetHistoryMs())*time.Millisecond),
			limits:    limits,
		}); err != nil && ctx.Err() == nil {
			t.log.Debug("compaction failed; it is tried again", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.wake:
		case <-ticker.C:
			seen.note(time.Since(began), t.o.Applied().Revision)
		}
	}
}

// compact proposes until nothing is left to forget, neither of history nor of what the last command says it left.
func (t *Task) compact(ctx context.Context, k keep) error {
	for more := t.o.Applied().Excess(k.limits); ctx.Err() == nil; {
		at := t.o.Applied()
		target := k.target(at)
		if !more && target <= at.CompactedRevision && at.TrimmedRevision >= at.CompactedRevision {
			return nil
		}
		result, err := t.o.Propose(ctx, &storev1.Command{
			WallTimeMs: time.Now().UnixMilli(),
			Kind:       &storev1.Command_Compact{Compact: &storev1.Compact{Revision: max(target, at.CompactedRevision)}},
		})
		if err != nil {
			return err
		}
		if f := result.GetFailure(); f != nil {
			return errors.New(storage.FailureText(f))
		}
		more = result.GetCompact().GetMore()
	}
	return nil
}

// room says how many bytes history may take.
type room struct {
	most   uint64 // at most so many
	floor  uint64 // and so many however full the store is
	growth uint64 // above so many bytes of the whole store, nothing more than the floor
}

func roomOf(limits *storev1.Limits) room {
	whole := limits.GetStoreBytesMax()
	margin := min(whole/marginPart, marginBytesMax)
	growth := storage.GrowthBytesMax(limits)
	return room{most: limits.GetHistoryBytesMax(), floor: whole / floorPart, growth: growth - min(margin, growth)}
}

// bytes returns how many bytes history may take beside what else the store holds.
func (r room) bytes(at storage.Applied) uint64 {
	other := at.StoreBytes - min(at.HistoryBytes, at.StoreBytes)
	return min(r.most, max(r.floor, r.growth-min(other, r.growth)))
}

// keep says how much history stays.
type keep struct {
	revisions uint64 // at least so many
	since     uint64 // and all after this revision, because they are young; unless
	room      room   // it takes more than this
	limits    *storev1.Limits
}

// target returns the last revision to forget.
func (k keep) target(at storage.Applied) uint64 {
	target := min(at.Revision-min(k.revisions, at.Revision), k.since)
	bytes := k.room.bytes(at)
	if at.HistoryBytes <= bytes {
		return target
	}
	bytes -= min(bytes/slackPart, slackBytesMax)
	// Revisions differ in size, so this is an estimate. What remains too large is found by the next look.
	span := at.Revision - at.TrimmedRevision
	excess := float64(at.HistoryBytes-bytes) / float64(at.HistoryBytes)
	return max(target, min(at.Revision, at.TrimmedRevision+uint64(float64(span)*excess)+1))
}

// timeline remembers when the store had which revision.
type timeline struct {
	samples []sample
}

type sample struct {
	at       time.Duration
	revision uint64
}

// note remembers a revision. Beyond the bound every second sample is forgotten, which only makes ages look younger.
func (l *timeline) note(at time.Duration, revision uint64) {
	if len(l.samples) >= samplesMax {
		kept := l.samples[:0]
		for i := 1; i < len(l.samples); i += 2 {
			kept = append(kept, l.samples[i])
		}
		l.samples = kept
	}
	l.samples = append(l.samples, sample{at, revision})
}

// before returns the newest revision that was seen at or before a time, zero if none was, and forgets older ones.
func (l *timeline) before(at time.Duration) uint64 {
	n := 0
	for n < len(l.samples) && l.samples[n].at <= at {
		n++
	}
	if n == 0 {
		return 0
	}
	l.samples = append(l.samples[:0], l.samples[n-1:]...)
	return l.samples[0].revision
}
