package access

import (
	"context"
	"sync/atomic"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Stream is a call that goes on while rights may change: one with many messages, or one that waits.
type Stream struct {
	authority *Authority
	caller    func() *identity.Client
	method    string
	end       context.CancelCauseFunc
	grant     atomic.Pointer[Grant] // of the last message; nil if nothing was decided
	fixed     atomic.Pointer[fixed] // by what it decided what it shows; nil: it has not, see See
	// free says that a message was taken about which nothing was decided, because this member knew of no rights. Before the first message it
	// is not set: that one is decided about by what the member has then.
	free atomic.Bool
	// turn is the review that looked last whether it shows something else now; the reviews' own.
	turn uint64
}

// Open begins a stream under ctx, which end ends. The call runs under the context that it returns; Close must be called. caller
// is only asked when there is something to decide.
func (a *Authority) Open(
	ctx context.Context, caller func() *identity.Client, method string, end context.CancelCauseFunc,
) (context.Context, *Stream) {
	s := &Stream{authority: a, caller: caller, method: method, end: end}
	a.mu.Lock()
	a.streams[s] = struct{}{}
	a.mu.Unlock()
	return context.WithValue(ctx, grantKey{}, s), s
}

// Close ends a stream.
func (s *Stream) Close() {
	s.authority.mu.Lock()
	delete(s.authority.streams, s)
	s.authority.mu.Unlock()
}

// Message decides about a message of the stream. Of renewals, those are noted that are denied, and the others go on: see Denies.
func (s *Stream) Message(ctx context.Context, m any) error {
	if s.isFree() {
		s.grant.Store(nil)
		return nil
	}
	if s.begins() && !s.authority.malformed(s.caller(), s.method) {
		if err := s.authority.current(ctx); err != nil {
			return err
		}
	}
	g, err := s.decide(ctx, m)
	if err == nil {
		s.grant.Store(g)
	}
	return err
}

// isFree reports whether nothing is to be decided about a message. It asks again once it has said so: a review of rights that came meanwhile has
// either seen that, or comes before the second answer.
func (s *Stream) isFree() bool {
	if s.authority.Asks(s.method) {
		return false
	}
	s.free.Store(true)
	return !s.authority.Asks(s.method)
}

// begins reports whether a message is the first about which is decided, so that what this member has must not be too old. The leader decides about
// renewals.
func (s *Stream) begins() bool {
	return s.method != tenurev1.SessionService_KeepAlive_FullMethodName && s.grant.Load() == nil
}

// decide decides about a message of the stream.
func (s *Stream) decide(ctx context.Context, m any) (*Grant, error) {
	_, reads := m.(reader)
	g := &Grant{authority: s.authority, caller: s.caller(), method: s.method, reads: reads, shows: s.begins()}
	renewals, ok := m.(*tenurev1.KeepAliveRequest)
	if !ok {
		return g, g.about(ctx, m)
	}
	// A member that lags must not hold up the renewals of all sessions for the sake of one that it does not know.
	short, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	err := g.about(short, m)
	switch {
	case g.who.Load() != nil && isDenial(err):
		return g.ofRenewals(renewals)
	default:
		return g, orNoProof(ctx, short, err)
	}
}

// orNoProof returns the error of a proof for which there was a short time; where that has ended, and the outer one has not, one that has clients go
// to another member.
func orNoProof(outer, short context.Context, err error) error {
	if err != nil && short.Err() != nil && outer.Err() == nil {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "this member could not prove that the right is there still")
	}
	return err
}

// Again decides again about renewals that came on a stream, whose context it is given. It returns one with what was decided.
func Again(ctx context.Context, renewals *tenurev1.KeepAliveRequest) (context.Context, error) {
	s, ok := ctx.Value(grantKey{}).(*Stream)
	if !ok || !s.authority.Asks(s.method) {
		return context.WithValue(ctx, grantKey{}, (*Grant)(nil)), nil
	}
	g, err := s.decide(ctx, renewals)
	return context.WithValue(ctx, grantKey{}, g), err
}

// Sends returns why a stream sends nothing more, although no review has ended it yet: nothing was decided about it, as this member knew of no
// rights, and now they are enforced. A stream that changes something tells what it did.
func (s *Stream) Sends() error {
	switch s.method {
	case tenurev1.SessionService_KeepAlive_FullMethodName, tenurev1.LockService_AcquireLock_FullMethodName,
		tenurev1.ElectionService_Campaign_FullMethodName:
		return nil
	default:
		now := s.authority.node.Store().Rights.Now()
		if s.grant.Load() == nil && s.authority.enforces(s.method, now.Mode) {
			return errChanged()
		}
		if f := s.fixed.Load(); f != nil && f.deny != now.DenyRevision {
			return s.still(now)
		}
		return nil
	}
}

// isDenial reports whether an error says that a caller whose credential is accepted lacks a right.
func isDenial(err error) bool {
	e := reason.Of(err)
	return e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
}

// ofRenewals returns a grant for those renewals of a message that are not denied, on what this member has.
func (g *Grant) ofRenewals(m *tenurev1.KeepAliveRequest) (*Grant, error) {
	allowed := &Grant{authority: g.authority, caller: g.caller, method: g.method, rare: &rare{denied: map[string]struct{}{}}}
	for _, r := range m.GetRenewals() {
		needs, err := g.authority.needsOf(nil, g.method, &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{r}})
		if err != nil {
			return nil, err
		}
		one := &Grant{authority: g.authority, caller: g.caller, method: g.method, needs: needs}
		switch _, err = one.local(); {
		case err == nil:
			allowed.needs = append(allowed.needs, needs...)
		case isDenial(err):
			allowed.rare.denied[r.GetSessionId()] = struct{}{}
		default:
			return nil, err
		}
	}
	_, err := allowed.local()
	return allowed, err
}

// Denies reports whether the renewal of a session, in the message that was decided about last, is denied.
func (g *Grant) Denies(session string) bool {
	if g == nil || g.rare == nil {
		return false
	}
	_, denied := g.rare.denied[session]
	return denied
}

// Run looks whether rights were taken away, and ends the streams that are no longer allowed, until ctx ends.
func (a *Authority) Run(ctx context.Context) {
	tick := time.NewTicker(ReviewEvery)
	defer tick.Stop()
	reviews := a.Reviews()
	for {
		select {
		case <-tick.C:
			reviews.Next(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Reviews look at the open streams of a member, one time after the other. They belong to one goroutine.
type Reviews struct {
	authority *Authority
	last      uint64 // the deny revision at the last review
	turn      uint64 // grows with each review that looks for streams that show something else now
}

// Reviews returns what looks at the open streams from now on.
func (a *Authority) Reviews() *Reviews {
	return &Reviews{authority: a, last: a.node.Store().Rights.Now().DenyRevision, turn: 1}
}

// Next ends the streams that are no longer allowed.
func (r *Reviews) Next(ctx context.Context) {
	now := r.authority.node.Store().Rights.Now()
	changed := now.DenyRevision != r.last
	r.last = now.DenyRevision
	r.endOthers(r.authority.review(ctx, now, changed), now)
}

// review looks once at all open streams, however often rights were taken away since, and however many streams there are: for all that are
// refused, it asks once what the cluster has. It returns those that were not refused.
func (a *Authority) review(ctx context.Context, now storage.RightsState, changed bool) (left []*Stream) {
	refused := map[*Stream]uint64{}
	l := &glance{authority: a}
	for _, s := range a.open() {
		at, err := s.check(l, now, changed)
		switch {
		case err == nil:
			left = append(left, s)
		case s.grant.Load() != nil && reason.Of(err) != nil:
			refused[s] = at
		default:
			s.end(err)
		}
	}
	_ = l.close() // That it does not close changes nothing for the streams.
	if len(refused) == 0 {
		return left
	}
	short, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	fresh := orNoProof(ctx, short, a.node.ReadIndex(short))
	for s, at := range refused {
		g := s.grant.Load()
		err := g.afresh(short, at, fresh)
		if err != nil && (s.method != tenurev1.SessionService_KeepAlive_FullMethodName || !isDenial(err)) {
			s.end(err) // The next renewal of each session is decided by itself.
		}
	}
	return left
}

// open returns the streams that are open.
func (a *Authority) open() []*Stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*Stream, 0, len(a.streams))
	for s := range a.streams {
		all = append(all, s)
	}
	return all
}

// check returns why a stream is no longer allowed, on what this member has, and at which deny revision; nil if it is. It decides again
// if its last decision was under another deny revision than this member has now, or if the credential has ended, or the key with which
// it was verified.
func (s *Stream) check(l *glance, now storage.RightsState, changed bool) (at uint64, err error) {
	g := s.grant.Load()
	if g == nil {
		if changed && s.free.Load() && s.authority.enforces(s.method, now.Mode) {
			return 0, errChanged()
		}
		return 0, nil
	}
	if g.looked.Load() == now.DenyRevision && !g.Who().ended(s.authority) {
		return 0, nil
	}
	return l.decide(g)
}

// errChanged is the error for a call that began before rights were asked for.
func errChanged() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED, "rights changed during the call; retry it")
}
