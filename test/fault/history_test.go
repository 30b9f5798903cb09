package fault_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/rig"
)

// arrivals writes down when each revision was first seen, from a watch that goes on wherever it can.
type arrivals struct {
	mu sync.Mutex // guards at
	at map[uint64]time.Duration
}

// follow watches everything until ctx ends. It begins before the first change.
func (a *arrivals) follow(ctx context.Context, c *caller) {
	token := ""
	for n := 1; ctx.Err() == nil; n++ {
		stream, err := tenurev1.NewWatchServiceClient(c.conn(n > 1)).Watch(ctx, &tenurev1.WatchRequest{
			Prefixes: []string{""}, LockPrefixes: []string{""}, AllSessions: true, ResumeToken: token,
		})
		for err == nil {
			var m *tenurev1.WatchResponse
			if m, err = stream.Recv(); err != nil {
				break
			}
			now := c.rec.now()
			if m.GetResumeToken() != "" {
				token = m.GetResumeToken()
			}
			a.mu.Lock()
			for _, e := range m.GetEvents().GetEvents() {
				if _, seen := a.at[e.GetRevision()]; !seen {
					a.at[e.GetRevision()] = now
				}
			}
			a.mu.Unlock()
		}
		c.pause(ctx, min(n, 4))
	}
}

// storedEvents reads the history of a member that has ended.
func storedEvents(t *testing.T, m *rig.Member) ([]*check.Event, uint64) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.Dir(), "CURRENT"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := storage.Open(storage.Options{Dir: filepath.Join(m.Dir(), strings.TrimSpace(string(raw)))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if closeErr := store.Close(); closeErr != nil {
			t.Error(closeErr)
		}
	}()
	r := store.NewReader()
	defer func() { _ = r.Close() }()
	at, err := r.Applied()
	if err != nil {
		t.Fatal(err)
	}
	if at.CompactedRevision > 0 {
		t.Fatalf("history up to revision %d is forgotten: the run was too long for the checkers", at.CompactedRevision)
	}
	h, err := r.History(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var events []*check.Event
	for h.Next() {
		events = append(events, check.FromStore(h.Event()))
	}
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return events, at.Revision
}

// judge ends the members and holds what clients saw against the history that the most advanced one kept.
func judge(t *testing.T, c *rig.Cluster, rec *recorder, seen *arrivals) *check.Report {
	t.Helper()
	for _, m := range c.Running() {
		if err := m.Stop(); err != nil {
			t.Errorf("stop %s: %v", m.Name(), err)
		}
	}
	var newest uint64
	for _, m := range c.Members {
		if _, err := os.Stat(filepath.Join(m.Dir(), "CURRENT")); err != nil {
			continue
		}
		if events, revision := storedEvents(t, m); revision >= newest {
			newest, rec.history.Events = revision, events
		}
	}
	bound(&rec.history, seen, int64(rec.now()))
	report := check.Run(&rec.history, check.Options{DriftPercent: 1})
	for _, v := range report.Violations {
		t.Error(v)
	}
	if t.Failed() {
		if dir := os.Getenv("TENURE_HISTORY"); dir != "" {
			writeHistory(t, rec, dir)
		}
	}
	for _, text := range rec.uncured {
		t.Errorf("no retry cured: %s", text)
	}
	return report
}

// bound says of each event when it was surely made, and when surely not yet. Whoever was shown a revision was shown all
// before it, and what a call made was not made before the call.
func bound(h *check.History, seen *arrivals, end int64) {
	made, shown := map[uint64]int64{}, map[uint64]int64{}
	for r, at := range seen.at {
		shown[r] = int64(at)
	}
	for _, op := range h.Ops {
		if op.Outcome != check.OK || op.Revision == 0 {
			continue
		}
		if at, ok := shown[op.Revision]; !ok || op.Return < at {
			shown[op.Revision] = op.Return
		}
		if op.Changed {
			made[op.Revision] = max(made[op.Revision], op.Call)
		}
	}
	latest := int64(0)
	for _, e := range h.Events {
		latest = max(latest, made[e.Revision])
		e.NotBefore = latest
	}
	earliest := end
	for _, e := range slices.Backward(h.Events) {
		if at, ok := shown[e.Revision]; ok {
			earliest = min(earliest, at)
		}
		e.At = earliest
	}
}

func writeHistory(t *testing.T, rec *recorder, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, t.Name()+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.history.Write(f); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// middle and most of what is there; zero of nothing.
func middle(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}

func most(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all).Round(time.Millisecond)
}
