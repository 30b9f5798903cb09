package proof_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	followers      = 200
	historyWriters = 4
	watchConns     = 4
	// killGap is how long the member runs between two kills.
	killGap = time.Second
	// ackedMin, cutsMin, compactedMin and compactionsMin are how much must happen in a run: changes, cuts of watchers, watchers
	// that compaction passed, compactions. It goes on until it has.
	ackedMin, cutsMin, compactedMin, compactionsMin = 500, 2 * followers, 5, 5
)

// written is one acknowledged change: at this revision, so many events of a type for keys that begin so.
type written struct {
	revision uint64
	kind     tenurev1.EventType
	key      string
	value    string
	events   int
}

// tally counts what happened so far, for a run that goes on until enough has.
type tally struct{ acked, cuts, compacted, compactions atomic.Int64 }

// await waits until so much happened; it returns false when ctx ends before.
func (n *tally) await(ctx context.Context, acked, cuts, compacted, compactions int64) bool {
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for n.acked.Load() < acked || n.cuts.Load() < cuts || n.compacted.Load() < compacted || n.compactions.Load() < compactions {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// writer makes random changes and keeps what was acknowledged. Its fields belong to its goroutine.
type writer struct {
	number  int
	random  *rand.Rand
	session string
	acked   []written
	tried   int
	tally   *tally
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context, p *pool) {
	for ctx.Err() == nil {
		w.tried++
		if err := w.write(ctx, p.get(w.number)); err != nil {
			w.session = "" // Whatever it was, a new one is right.
			select {
			case <-time.After(retryInterval):
			case <-ctx.Done():
			}
		}
	}
}

func (w *writer) key() string {
	return fmt.Sprintf("k/%c/%d", 'a'+rune(w.random.IntN(6)), w.random.IntN(10))
}

// write makes one random change.
func (w *writer) write(ctx context.Context, c *client) error {
	if w.session == "" {
		s, err := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: fmt.Sprint("writer", w.number)})
		if err != nil {
			return err
		}
		w.session = s.GetSessionId()
	}
	key, lock := w.key(), fmt.Sprint("l/", w.random.IntN(4))
	switch w.random.IntN(20) {
	case 0:
		r, err := c.Delete(ctx, &tenurev1.DeleteRequest{Key: key})
		if r.GetDeleted() {
			w.ack(r.GetHeader(), tenurev1.EventType_EVENT_TYPE_DELETED, key, "", 1)
		}
		return err
	case 1:
		r, err := c.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: key[:3]})
		if n := int(r.GetDeleted()); n > 0 {
			w.ack(r.GetHeader(), tenurev1.EventType_EVENT_TYPE_DELETED, "", "", n)
		}
		return err
	case 2:
		_, err := c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: w.session, Clean: true})
		w.session = ""
		return err
	case 3, 4:
		_, err := c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: lock, SessionId: w.session})
		return err
	case 5, 6:
		_, err := c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: lock, SessionId: w.session})
		return err
	case 7:
		stream, err := c.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: lock, SessionId: w.session})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	default:
		value := fmt.Sprint(w.number, "/", w.tried)
		r, err := c.Put(ctx, &tenurev1.PutRequest{Key: key, Content: text(value)})
		if err == nil {
			w.ack(r.GetHeader(), tenurev1.EventType_EVENT_TYPE_PUT, key, value, 1)
		}
		return err
	}
}

func (w *writer) ack(h *tenurev1.ResponseHeader, kind tenurev1.EventType, key, value string, events int) {
	w.acked = append(w.acked, written{revision: h.GetRevision(), kind: kind, key: key, value: value, events: events})
	w.tally.acked.Add(1)
}

// randomSelectors returns what a follower selects.
func randomSelectors(random *rand.Rand) *tenurev1.WatchRequest {
	r := &tenurev1.WatchRequest{Previous: random.IntN(4) == 0}
	letter := func() string { return fmt.Sprintf("k/%c", 'a'+rune(random.IntN(6))) }
	for r.GetPrefixes() == nil && r.GetKeys() == nil && r.GetRangeEnd() == "" && r.GetLocks() == nil &&
		r.GetLockPrefixes() == nil && !r.GetAllSessions() {
		switch random.IntN(7) {
		case 0:
			r.Prefixes = []string{letter() + "/"}
		case 1:
			r.Keys = []string{letter() + "/1", letter() + "/2", "l/1"}
		case 2:
			r.RangeStart, r.RangeEnd = "k/b", letter()+"/5"
			if r.GetRangeEnd() <= r.GetRangeStart() {
				r.RangeStart, r.RangeEnd = "", "k/c"
			}
		case 3:
			r.Locks = []string{"l/1", "l/2"}
		case 4:
			r.LockPrefixes = []string{"l/"}
		case 5:
			r.AllSessions = true
			r.Prefixes = []string{"l/"}
		default:
			r.Prefixes = []string{""}
		}
	}
	if random.IntN(3) == 0 {
		r.Filter = &tenurev1.WatchFilter{
			NoPuts: random.IntN(2) == 0, NoDeletes: random.IntN(2) == 0, NoHolderChanges: random.IntN(2) == 0, NoQueue: random.IntN(2) == 0,
		}
	}
	return r
}

// TestEveryWatcherGetsItsPartOfTheHistory lets two hundred watchers follow random writes. They select and start at random
// and are cut and go on; history is compacted behind and under them; the member is killed. What each got is the history
// restricted to what it selected, from its start or from where compaction passed it, each event once and in order; and no
// message claimed a revision before everything up to it was sent. The history is the union of what a watcher of everything
// got, in which no revision is missing, and it holds all that was acknowledged.
func TestEveryWatcherGetsItsPartOfTheHistory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	m := rig.Start(ctx, t, binary)
	p := &pool{}
	open := func() {
		clients := make([]*client, watchConns)
		for i := range clients {
			clients[i] = connect(m)
		}
		p.set(clients)
	}
	open()
	defer p.set(nil)
	p.get(0).session(ctx, t, "first")
	start := p.get(0).status(ctx, t).GetHeader().GetRevision()
	var oracleAt atomic.Uint64
	done := &tally{}
	all := newFollowers(start, done)
	oracle := all[0]
	oracle.reached = oracleAt.Store

	var readers, writers sync.WaitGroup
	ends := make([]chan uint64, len(all))
	for i, f := range all {
		ends[i] = make(chan uint64, 1)
		readers.Go(func() {
			if err := f.follow(ctx, p, ends[i]); err != nil {
				t.Error(err)
			}
		})
	}
	writing, stop := context.WithCancel(ctx)
	ws := make([]*writer, historyWriters)
	for i := range ws {
		ws[i] = &writer{number: i, tally: done, random: rand.New(rand.NewPCG(7, uint64(i)))}
		writers.Go(func() { ws[i].run(writing, p) })
	}
	compactions := 0
	writers.Go(func() { compactions = compact(writing, p, oracleAt.Load, done) })
	kills := scaled(3, 40)
	for range kills {
		before := done.acked.Load()
		select {
		case <-time.After(killGap):
		case <-ctx.Done():
		}
		done.await(ctx, before+50, 0, 0, 0) // A kill in the middle of nothing proves nothing.
		m.Kill()
		m.Restart(ctx)
		open()
	}
	done.await(ctx, ackedMin, cutsMin, compactedMin, compactionsMin)
	stop()
	writers.Wait()
	end := p.get(0).status(ctx, t).GetHeader().GetRevision()
	for _, e := range ends {
		e <- end
	}
	readers.Wait()
	report(t, all, ws, start, end, compactions, kills)
}

// newFollowers returns a follower of everything, which is never cut on purpose, and the others.
func newFollowers(start uint64, done *tally) []*follower {
	all := []*follower{{
		selectors: &tenurev1.WatchRequest{Prefixes: []string{""}, LockPrefixes: []string{""}, AllSessions: true},
		after:     start, steady: true, random: rand.New(rand.NewPCG(1, 1)), tally: done,
	}}
	for i := 1; i <= followers; i++ {
		random := rand.New(rand.NewPCG(2, uint64(i)))
		f := &follower{number: i, selectors: randomSelectors(random), random: random, tally: done}
		if random.IntN(3) > 0 {
			f.after = start
		}
		all = append(all, f)
	}
	return all
}

// compact forgets history behind what the follower of everything has, and returns how often.
func compact(ctx context.Context, p *pool, reached func() uint64, done *tally) int {
	random := rand.New(rand.NewPCG(3, 3))
	n := 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return n
		}
		back := uint64(1 + random.IntN(200))
		if at := reached(); at > back {
			if _, err := p.get(0).Compact(ctx, &tenurev1.CompactRequest{Revision: at - back}); err == nil {
				n++
				done.compactions.Add(1)
			}
		}
	}
}

// report compares everybody with the history, and the history with what was acknowledged.
func report(t *testing.T, all []*follower, ws []*writer, start, end uint64, compactions, kills int) {
	t.Helper()
	oracle := all[0]
	if len(oracle.segments) != 1 {
		t.Fatalf("the watcher of everything has %d segments, want 1", len(oracle.segments))
	}
	history := oracle.segments[0].events
	perRevision := map[uint64][]*tenurev1.Event{}
	for _, e := range history {
		perRevision[e.GetRevision()] = append(perRevision[e.GetRevision()], e)
	}
	for r := start + 1; r <= end; r++ {
		for i, e := range perRevision[r] {
			if int(e.GetIndex()) != i {
				t.Errorf("revision %d: event %d has index %d", r, i, e.GetIndex())
			}
		}
		if len(perRevision[r]) == 0 {
			t.Errorf("the watcher of everything misses revision %d", r)
		}
	}
	acked := 0
	for _, w := range ws {
		acked += len(w.acked)
		for _, a := range w.acked {
			n := 0
			for _, e := range perRevision[a.revision] {
				if e.GetType() == a.kind && (a.key == "" || e.GetKey() == a.key && string(e.GetKv().GetValue()) == a.value) {
					n++
				}
			}
			if n != a.events {
				t.Errorf("acknowledged %+v is %d times in the history, want %d", a, n, a.events)
			}
		}
	}
	events, cuts, compacted := 0, 0, 0
	for _, f := range all {
		if err := f.compare(history); err != nil {
			t.Error(err)
		}
		cuts += f.cuts
		compacted += f.compacted
		for _, s := range f.segments {
			events += len(s.events)
		}
	}
	t.Logf("%d revisions, %d events in the history, %d acknowledged; %d watchers got %d, with %d cuts, %d passed by %d compactions, %d kills",
		end-start, len(history), acked, len(all), events, cuts, compacted, compactions, kills)
	if acked < ackedMin || events < 4*len(history) || cuts < cutsMin || compacted < compactedMin || compactions < compactionsMin {
		t.Error("floors: want 500 acknowledged, four times the history delivered, two cuts a watcher, 5 passed by 5 compactions")
	}
}
