package renewal

import (
	"context"
	"sync"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
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

// renewalRight says whether a caller may renew a session.
type renewalRight uint8

const (
	// rightUnknown means that the timers do not have the session, or that no such session lives: there is nothing to renew.
	rightUnknown renewalRight = iota
	// rightShown means that the session has no secret, or that it was shown.
	rightShown
	// rightWrong means that the session has another secret.
	rightWrong
)

// checkRenewalSecret tells whether a renewal brought what its session needs; proven says that it was checked before. A session
// that the timers do not have is not looked for: only of one that they have, without its secret, the state is asked; lazy opens it.
func (a *Renewer) checkRenewalSecret(r *expiry.Renewal, proven bool, lazy *lazySnapshot) (renewalRight, error) {
	known := a.Timers.Secret(r)
	if known == expiry.SecretNone || known == expiry.SecretShown || proven && known == expiry.SecretNeeded {
		return rightShown, nil
	}
	if known == expiry.SecretAbsent {
		return rightUnknown, nil
	}
	record, live, err := lazy.session(a, r.ID)
	if err != nil || !live {
		return rightUnknown, err
	}
	hash := record.GetSecretSha256()
	if known == expiry.SecretUnknown {
		a.Timers.SetSecret(r, hash)
	}
	if len(hash) == 0 || proven || call.ShowsSecret(r.Shown, hash) {
		return rightShown, nil
	}
	return rightWrong, nil
}

// lookBefore notes whether a renewal may postpone its session's end from the moment it came. Where nobody can tell yet it
// may not; it is looked at again when it is settled.
func (a *Renewer) lookBefore(r *expiry.Renewal, proven bool, lazy *lazySnapshot) {
	right, err := a.checkRenewalSecret(r, proven, lazy)
	r.Unproven = err != nil || right != rightShown
}

// lazySnapshot is a local snapshot that is made when it is first needed.
type lazySnapshot struct{ s *call.Snapshot }

func (l *lazySnapshot) get(a *Renewer) (*call.Snapshot, error) {
	if l.s != nil {
		return l.s, nil
	}
	s, err := a.LocalSnapshot()
	l.s = s
	return s, err
}

// session returns the record of a session, if it lives.
func (l *lazySnapshot) session(a *Renewer, id storage.SessionID) (*storev1.SessionRecord, bool, error) {
	s, err := l.get(a)
	if err != nil {
		return nil, false, err
	}
	a.looked.Add(1)
	return s.Session(id)
}

// ended returns the record of a session that has ended, if it is still remembered.
func (l *lazySnapshot) ended(a *Renewer, id storage.SessionID) (*storev1.EndedSessionRecord, bool, error) {
	s, err := l.get(a)
	if err != nil {
		return nil, false, err
	}
	a.looked.Add(1)
	return s.EndedSession(id)
}

func (l *lazySnapshot) close(a *Renewer) {
	if l.s != nil {
		a.CloseSnapshot(l.s)
	}
}

// missingReason says why a session is missing.
func (a *Renewer) missingReason(id storage.SessionID, lazy *lazySnapshot) (tenurev1.ErrorReason, error) {
	if _, live, err := lazy.session(a, id); err != nil || live {
		// The timers have not heard of it yet, or no more; the client asks again.
		return tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, err
	}
	if _, known, err := lazy.ended(a, id); err != nil || !known {
		return tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, err
	}
	return tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, nil
}
