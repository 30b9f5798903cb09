package sim

import (
	"context"
	"errors"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/test/check"
)

// streamMax is how long a stream may last; the silence at the end of a run is longer.
const streamMax = 15 * time.Second

// useWatch watches, for ever: when the stream breaks it goes on at another member, behind what it has.
func useWatch(c *client) {
	var s watch.Selectors
	rec := &check.Watch{ID: len(c.w.truth.history.Watches) + 1, Client: c.name}
	switch c.dice.IntN(3) {
	case 0:
		s.Prefixes, rec.KeyPrefix = []string{""}, new("")
		s.LockPrefixes, rec.LockPrefix = []string{""}, new("")
		s.AllSessions, rec.Sessions = true, true
	case 1:
		s.Prefixes, rec.KeyPrefix = []string{"k"}, new("k")
	default:
		s.LockPrefixes, rec.LockPrefix = []string{"x"}, new("x")
	}
	// The beginning is what some member shows, at most a little back.
	rec.After = c.w.truth.revision - min(c.w.truth.revision, c.dice.Uint64N(30))
	c.w.truth.history.Watches = append(c.w.truth.history.Watches, rec)
	c.w.watching[c] = rec
	c.follow(rec, s.Normal(), c.asksToWatch(s))
}

// stream is one stream of a watch: a member on one side, the client on the other.
type stream struct {
	c      *client
	rec    *check.Watch
	r      *life
	cursor *watch.Cursor
	after  uint64
	over   bool          // for the client
	broken bool          // for the member: nothing more is sent, so that nothing is missing in between
	last   time.Duration // when the newest batch arrives; a stream is in order
	open   *opened       // nil where the plan has no tokens
}

// follow opens a stream.
func (c *client) follow(rec *check.Watch, s watch.Selectors, a *ask) {
	members := c.w.inService()
	to := members[c.dice.IntN(len(members))]
	after := rec.After
	if n := len(rec.Batches); n > 0 {
		after = rec.Batches[n-1].Through
	}
	st := &stream{c: c, rec: rec, after: after}
	again := func() {
		if !st.over {
			st.over = true
			c.after(between(c.dice, 10*time.Millisecond, 300*time.Millisecond), func() { c.follow(rec, s, a) })
		}
	}
	// Nothing for long, or somebody cuts the connection. A client does not wait for ever for a member that is gone.
	limit := time.Second + min(expo(c.dice, 4*time.Second), streamMax)
	c.after(limit, again)
	caller := c.caller
	c.w.net.call(0, to.id, func() {
		if to.life == nil {
			return
		}
		to.life.soon(func(r *life) {
			if r.authority == nil {
				st.serve(r, s, again)
				return
			}
			refused := func() { r.w.after(r.w.net.delay(), again) }
			guarding{r}.watch(caller, a, refused, func(o *opened) {
				st.open = o
				o.over = func(error) {
					st.broken = true
					refused()
				}
				st.serve(r, s, again)
			})
		})
	})
}

// serve runs on the member's side.
func (st *stream) serve(r *life, s watch.Selectors, again func()) {
	if st.ends() {
		return
	}
	if at := r.store.Applied(); at.Index == 0 || at.Revision < st.after {
		r.after(50*time.Millisecond, func() { st.serve(r, s, again) })
		return
	}
	cursor, err := r.hub.Cursor(watch.Request{Selectors: s, After: watch.Position{Revision: st.after, Index: watch.Whole}})
	if err != nil {
		r.w.violated("watch", "member %d: %v", r.m.id, err)
		return
	}
	st.r, st.cursor = r, cursor
	r.w.floors.WatchStreams++
	st.pump(again)
}

// ends reports whether the stream is over, for the client or because it is not allowed any more, and closes what decides about it.
func (st *stream) ends() bool {
	switch {
	case st.open == nil:
		return st.over
	case st.over:
		st.open.close()
	}
	return st.open.closed
}

// pump sends what there is, and looks again soon.
func (st *stream) pump(again func()) {
	r, w := st.r, st.c.w
	if st.ends() {
		st.cursor.Close()
		return
	}
	for {
		b, more, err := st.cursor.Next(context.Background())
		if errors.Is(err, watch.ErrCompacted) {
			if st.after >= w.compactTarget {
				w.violated("watch", "member %d: a watch has all through revision %d, and what follows is said to be forgotten; at most %d was to be",
					r.m.id, st.after, w.compactTarget)
			}
			w.floors.WatchesCompacted++
			delete(w.watching, st.c)
			st.over = true
			st.ends()
			st.cursor.Close()
			w.after(w.net.delay(), func() {
				st.c.soon(func() { useWatch(st.c) })
			})
			return
		}
		if err != nil {
			w.violated("watch", "member %d: %v", r.m.id, err)
			return
		}
		if len(b.Events) > 0 || b.Through > st.after {
			st.after = b.Through
			st.send(b.Events, b.Through, again)
		}
		if !more {
			break
		}
	}
	r.after(between(r.dice, time.Millisecond, 80*time.Millisecond), func() { st.pump(again) })
}

// send brings a batch to the client. What is lost breaks the stream.
func (st *stream) send(events []*storev1.Event, through uint64, again func()) {
	w := st.c.w
	batch := check.Batch{Through: through}
	for _, e := range events {
		batch.Events = append(batch.Events, check.Position{Revision: e.GetRevision(), Index: e.GetIndex()})
	}
	if st.broken || w.net.lost(st.r.m.id, 0) {
		st.broken = true
		w.after(w.net.delay(), again)
		return
	}
	st.last = max(st.last+1, w.now+w.net.delay())
	w.after(st.last-w.now, func() {
		st.c.soon(func() {
			if st.over {
				return
			}
			w.floors.WatchEvents += len(batch.Events)
			st.rec.Batches = append(st.rec.Batches, batch)
		})
	})
}
