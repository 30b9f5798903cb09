package compaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	// interval is how often the leader looks at the history.
	interval = 10 * time.Second
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
}

// New returns a task that does nothing until it leads.
func New(o Options) *Task {
	log := o.Logger
	if log == nil {
		log = zap.NewNop()
	}
	return &Task{o: o, log: log}
}

// Lead is a leader task: it runs until ctx ends.
func (t *Task) Lead(ctx context.Context, _ uint64) error {
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen timeline
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		limits, err := t.o.Limits()
		if err != nil {
			return fmt.Errorf("compaction: %w", err)
		}
		now := time.Since(began)
		seen.note(now, t.o.Applied().Revision)
		if err := t.compact(ctx, keep{
			revisions: limits.GetHistoryRevisions(),
			bytes:     limits.GetHistoryBytesMax(),
			since:     seen.before(now - time.Duration(limits.GetHistoryMs())*time.Millisecond),
		}); err != nil && ctx.Err() == nil {
			t.log.Debug("compaction failed; it is tried again", zap.Error(err))
		}
	}
}

// compact proposes until nothing is left to forget, neither of history nor of what the last command says it left.
func (t *Task) compact(ctx context.Context, k keep) error {
	for more := false; ctx.Err() == nil; {
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

// keep says how much history stays.
type keep struct {
	revisions uint64 // at least so many
	since     uint64 // and all after this revision, because they are young; unless
	bytes     uint64 // it is more than this
}

// target returns the last revision to forget.
func (k keep) target(at storage.Applied) uint64 {
	target := min(at.Revision-min(k.revisions, at.Revision), k.since)
	if at.HistoryBytes <= k.bytes {
		return target
	}
	// Revisions differ in size, so this is an estimate. What remains too large is found by the next look.
	span := at.Revision - at.TrimmedRevision
	excess := float64(at.HistoryBytes-k.bytes) / float64(at.HistoryBytes)
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
