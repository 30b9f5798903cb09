package storage_test

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// breakLock returns a break, or the next command of one that left something.
func (g *generator) breakLock() *storev1.BreakLock {
	if len(g.breaks) > 0 && !g.oneIn(3) {
		b := g.breaks[0]
		g.breaks = g.breaks[1:]
		return b
	}
	h := g.holder()
	for range 16 { // Of an EXCLUSIVE lock nothing is left for a second command.
		if h.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
			h = g.holder()
		}
	}
	b := &storev1.BreakLock{Key: h.GetKey(), Reason: "why"}
	if !g.oneIn(4) {
		b.Most = 1
	}
	switch g.rng.IntN(5) {
	case 0, 4:
	case 1:
		b.SessionId = g.waiter(h.GetKey()).Record.GetSessionId()
	case 2:
		b.SessionId = h.GetSessionId()
	default:
		b.SessionId = h.GetSessionId()
		b.Owner = new(h.GetOwner())
	}
	g.breaks = append(g.breaks, g.begun(b)) // It comes once more, and must not touch what was granted in between.
	return b
}

// begun returns the second command of a break, as if the first one found nothing that it could break.
func (g *generator) begun(b *storev1.BreakLock) *storev1.BreakLock {
	r := g.store.NewReader()
	defer g.close(r)
	l, _, err := r.Lock(b.GetKey())
	if err != nil {
		g.t.Fatal(err)
	}
	b = proto.CloneOf(b)
	b.From = &storev1.BreakPoint{Revision: g.store.Applied().Revision, LastLockIndex: l.State.GetLockIndex()}
	return b
}

// answered keeps what a break left for later commands.
func (g *generator) answered(cmd *storev1.Command, result *storev1.Result) {
	if next := result.GetBreakLock().GetNext(); next != nil && cmd.GetBreakLock() != nil {
		b := proto.CloneOf(cmd.GetBreakLock())
		b.From = next
		g.breaks = append(g.breaks, b)
	}
}

// breakLock takes away at most so many of what was there when the break began: first places, then holds.
func (m *model) breakLock(b *storev1.BreakLock) string {
	if m.version < 2 && (b.GetMost() > 0 || b.GetFrom() != nil) {
		refuse("FEATURE_NOT_ENABLED")
	}
	l := m.lock(b.GetKey())
	named := func(session, owner string) bool {
		return session == string(b.GetSessionId()) && (b.Owner == nil || b.GetOwner() == owner)
	}
	since := m.revision
	if b.GetFrom() != nil {
		since = b.GetFrom().GetRevision()
	}
	left := 1 << 20
	if b.GetMost() > 0 {
		left = int(b.GetMost())
	}
	all := len(b.GetSessionId()) == 0
	places := slices.DeleteFunc(slices.Clone(l.queue), func(w modelWait) bool {
		return all || !named(w.session, w.owner) || w.place > since
	})
	holds := slices.DeleteFunc(slices.Clone(l.holds), func(h modelHold) bool {
		return h.delayed || !all && !named(h.session, h.owner) || h.token > since
	})
	if !all {
		slices.SortFunc(places, func(a, b modelWait) int { return cmp.Compare(a.owner, b.owner) })
		slices.SortFunc(holds, func(a, b modelHold) int { return cmp.Compare(a.owner, b.owner) })
	}
	brokenPlaces := places[:min(left, len(places))]
	brokenHolds := holds[:min(left-len(brokenPlaces), len(holds))]
	for _, w := range brokenPlaces {
		m.leave(b.GetKey(), l, slices.IndexFunc(l.queue, func(o modelWait) bool { return o.place == w.place }))
	}
	for _, h := range brokenHolds {
		m.end(b.GetKey(), l, h.session, h.owner, m.sessions[h.session].delay)
	}
	m.grantTouched()
	remaining := len(places) - len(brokenPlaces) + len(holds) - len(brokenHolds)
	return fmt.Sprint(len(brokenHolds), len(brokenPlaces), remaining)
}
