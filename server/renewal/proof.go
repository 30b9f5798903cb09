package renewal

import (
	"context"
	"sync"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

// ProofTimeout bounds one proof of leadership. A leader without quorum steps down before.
const ProofTimeout = 5 * time.Second

// proofs shares proofs of leadership: while one is under way, all who come wait for the next together. So there is one
// round to the other members for all renewals of a few milliseconds, over whatever streams they came.
type proofs struct {
	mu      sync.Mutex // guards what follows
	next    *proof     // gathering; nil when nobody waits
	running *proof
}

// proof is one round. term and err are set when done is closed.
type proof struct {
	done chan struct{}
	term uint64
	err  error
}

// prove returns the term in which this member led after the call, when it has applied all that was committed until then.
// The first of those who wait together does the work for all; stopping ends it, his own ctx does not.
func (p *proofs) prove(ctx, stopping context.Context, node leader.Node) (uint64, error) {
	p.mu.Lock()
	mine, first := p.next, false
	if mine == nil {
		mine, first = &proof{done: make(chan struct{})}, true
		p.next = mine
	}
	before := p.running
	p.mu.Unlock()
	if !first {
		select {
		case <-mine.done:
			return mine.term, mine.err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	if before != nil {
		<-before.done
	}
	p.mu.Lock()
	p.next, p.running = nil, mine
	p.mu.Unlock()
	bounded, cancel := context.WithTimeout(stopping, ProofTimeout)
	defer cancel()
	mine.term, mine.err = node.ReadIndexLeader(bounded)
	close(mine.done)
	return mine.term, mine.err
}

// renewalProof proves that this member leads after the renewals came, and waits until the timers of that term run.
func (a *Renewer) renewalProof(ctx context.Context) (uint64, error) {
	term, err := a.proofs.prove(ctx, a.Stopping, a.Node)
	if err != nil {
		return 0, err
	}
	if a.Timers.Term() >= term {
		return term, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	for {
		changed := a.Timers.Changed()
		if a.Timers.Term() >= term {
			return term, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// caughtUp waits until this member has all that was committed when it was called. One that cannot for ProofTimeout tells its client
// to go elsewhere.
func (a *Renewer) caughtUp(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	err := a.Node.ReadIndex(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
			"this member lags, and cannot learn which rights were taken away; renew over another one")
	}
	return err
}

// renewalRefusal returns the verdict for a renewal that got no proof: one after which the client tries again.
func (a *Renewer) renewalRefusal(err error) tenurev1.ErrorReason {
	if a.Stopping.Err() != nil {
		return tenurev1.ErrorReason_ERROR_REASON_STOPPING
	}
	if e := reason.Of(err); e != nil {
		switch e.Reason {
		case tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, tenurev1.ErrorReason_ERROR_REASON_STOPPING,
			tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS:
			return e.Reason
		default:
		}
	}
	return tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
}

// lazySnapshot is a local snapshot that is made when it is first needed.
type lazySnapshot struct {
	api *Renewer
	s   *call.Snapshot
}

var _ core.Sessions = (*lazySnapshot)(nil)

func (l *lazySnapshot) get() (*call.Snapshot, error) {
	if l.s != nil {
		return l.s, nil
	}
	s, err := l.api.LocalSnapshot()
	l.s = s
	return s, err
}

// Live returns the hash of a session's secret, and whether the session lives.
func (l *lazySnapshot) Live(id storage.SessionID) (secret []byte, live bool, err error) {
	s, err := l.get()
	if err != nil {
		return nil, false, err
	}
	l.api.looked.Add(1)
	record, live, err := s.Session(id)
	return record.GetSecretSha256(), live, err
}

// Ended reports whether a session is known to have ended.
func (l *lazySnapshot) Ended(id storage.SessionID) (bool, error) {
	s, err := l.get()
	if err != nil {
		return false, err
	}
	l.api.looked.Add(1)
	_, known, err := s.EndedSession(id)
	return known, err
}

// Marked reports whether the end list has ended a session that is not recorded as ended.
func (l *lazySnapshot) Marked(id storage.SessionID) (bool, error) {
	s, err := l.get()
	if err != nil {
		return false, err
	}
	l.api.looked.Add(1)
	record, live, err := s.Session(id)
	if err != nil || !live {
		return false, err
	}
	_, marked, err := s.Marked(record)
	return marked, err
}

func (l *lazySnapshot) close() {
	if l.s != nil {
		l.api.CloseSnapshot(l.s)
	}
}
