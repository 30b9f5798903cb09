package access

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// fixed is by what a stream decided what it shows: it ends when that is otherwise. It does not change.
type fixed struct {
	// at is the last state of which it is known that it is not otherwise, and deny its deny revision.
	at   asOf
	deny uint64
	// enforced says that rules are enforced. Where they are not the stream shows all, whatever rights are.
	enforced bool
	// rights are the caller's; nil: none.
	rights *authz.Rights
}

// See decides, by a snapshot, what the stream of a context shows to its caller from then on; nil: all that it asks for. A review ends the stream when the
// caller's rules are no longer those of the snapshot, or when it is no longer so that rules are enforced, or that they are not; and once something was taken
// away from somebody, nothing is sent before that was looked at: see Sends. A stream asks once. It shows the keys that a list shows, with their values or keys
// only, or is refused. One inside this process, which passed no gate, shows all.
func See(ctx context.Context, s *storage.Reader, at storage.Applied, keysOnly bool) (*Sight, error) {
	switch stream := ctx.Value(grantKey{}).(type) {
	case nil:
		return nil, nil
	case *Stream:
		return stream.see(s, at, keysOnly)
	default:
		return nil, errChanged()
	}
}

// see is See for a stream.
func (s *Stream) see(state *storage.Reader, at storage.Applied, keysOnly bool) (*Sight, error) {
	f, g := s.authority.fixedAt(s.method, at), s.grant.Load()
	if !f.enforced {
		s.fixed.Store(f)
		return nil, nil
	}
	if g == nil {
		return nil, errChanged()
	}
	who, err := s.authority.who(state, at, g.caller)
	if err != nil {
		return nil, err
	}
	if who.Cause != "" {
		return nil, denial(who, authz.Need{Kind: authz.Any})
	}
	f.rights = who.rights
	s.fixed.Store(f)
	for _, need := range g.needs {
		if need.Part && !who.Covers(need) {
			return &Sight{who: who, enforced: true}, who.checkWatched(g.needs, keysOnly)
		}
	}
	return nil, nil
}

// fixedAt returns what a stream of a method has fixed by a state, but for the rights.
func (a *Authority) fixedAt(method string, at storage.Applied) *fixed {
	return &fixed{at: stateOf(at.Rights()), deny: at.DenyRevision, enforced: a.enforces(method, at.AuthMode)}
}

// still returns why a stream that has fixed what it shows must not send it now that something was taken away from somebody. A review, which looks at all
// streams, may come to this one late.
func (s *Stream) still(now storage.RightsState) error {
	l := &glance{authority: s.authority}
	differs, err := l.differs(s, now)
	if err = errors.Join(err, l.close()); err == nil && differs {
		err = errOtherRights()
	}
	return err
}

// glance looks at streams by what this member has. It belongs to one review and must be closed. However many streams a caller has, its rules are compared
// once.
type glance struct {
	authority *Authority
	state     *storage.Reader // nil: nothing was looked up yet
	at        storage.Applied
	same      map[[2]*authz.Rights]bool
}

// open has the look see what this member has now, unless it does already.
func (l *glance) open() error {
	if l.state != nil {
		return nil
	}
	state := l.authority.node.Store().NewReader()
	at, err := state.Applied()
	if err != nil {
		return errors.Join(err, state.Close())
	}
	l.state, l.at = state, at
	return nil
}

// decide decides again about a message of a stream: see Grant.local.
func (l *glance) decide(g *Grant) (under uint64, err error) {
	if under, ok := g.remembered(); ok {
		return under, nil
	}
	if err := l.open(); err != nil {
		return 0, err
	}
	return l.at.DenyRevision, g.allowed(l.at.DenyRevision, g.decide(l.state, l.at))
}

// differs reports whether what a stream shows was decided otherwise now. Of a caller whose credential is not accepted any more, the review says that.
func (l *glance) differs(s *Stream, now storage.RightsState) (bool, error) {
	f := s.fixed.Load()
	if f == nil || f.at == stateOf(now) {
		return false, nil
	}
	if err := l.open(); err != nil {
		return false, err
	}
	seen := l.authority.fixedAt(s.method, l.at)
	if f.at.history == seen.at.history && f.at.changes > seen.at.changes { // It began after the look.
		return false, nil
	}
	if seen.enforced != f.enforced {
		return true, nil
	}
	if g := s.grant.Load(); f.enforced && g != nil {
		who, err := l.authority.who(l.state, l.at, g.caller)
		switch {
		case err != nil:
			return false, err
		case who.Cause != "":
			return false, nil
		case !l.sameRules(f.rights, who.rights):
			return true, nil
		}
		seen.rights = who.rights // Those of before need not be kept.
	}
	s.fixed.Store(seen)
	return false, nil
}

// sameRules reports whether a caller has the same rules as before.
func (l *glance) sameRules(before, now *authz.Rights) bool {
	if before == now {
		return true
	}
	pair := [2]*authz.Rights{before, now}
	same, known := l.same[pair]
	if !known {
		if l.same == nil {
			l.same = map[[2]*authz.Rights]bool{}
		}
		same = before.Same(now)
		l.same[pair] = same
	}
	return same
}

// close ends the look.
func (l *glance) close() error {
	if l.state == nil {
		return nil
	}
	return l.state.Close()
}

// errOtherRights is the error for a stream that shows what its caller saw when it began.
func errOtherRights() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED,
		"the caller's rights changed, and the call shows what it was allowed to see before; start again, a watch with its initial state")
}

// othersFor is how long a review looks for streams that would show something else now, before it leaves the rest to the next one: it must be back in time
// for those whose rights are taken away.
const othersFor = 50 * time.Millisecond

// endOthers ends those of several streams that would show something else if they began now. It begins with those at which no review has looked for longest.
func (r *Reviews) endOthers(streams []*Stream, now storage.RightsState) {
	left := streams[:0]
	for _, s := range streams {
		if f := s.fixed.Load(); f != nil && f.at != stateOf(now) {
			if s.turn == 0 {
				s.turn = r.turn // A new one has not waited.
			}
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return
	}
	slices.SortFunc(left, func(a, b *Stream) int { return cmp.Compare(a.turn, b.turn) })
	r.turn++
	l := &glance{authority: r.authority}
	began := r.authority.fresh.now()
	for _, s := range left {
		s.turn = r.turn
		switch differs, err := l.differs(s, now); {
		case err != nil:
			s.end(err)
		case differs:
			s.end(errOtherRights())
		}
		if r.authority.fresh.now().Sub(began) >= othersFor {
			break
		}
	}
	_ = l.close() // That it does not close changes nothing for the streams.
}
