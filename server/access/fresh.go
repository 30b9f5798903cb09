package access

import (
	"context"
	"sync"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	// StaleMaxDefault is how long a member may decide by what it knows without a proof that it knows all.
	StaleMaxDefault = 10 * time.Second
	// ProofTimeout is how long a call waits for that proof.
	ProofTimeout = time.Second
	// proofPause is how long no call tries again after a proof failed.
	proofPause = 500 * time.Millisecond
)

// fresh knows when this member last proved that it had applied all that was committed. A member that the others cannot reach
// would else show for ever what a revoked token may no longer see.
type fresh struct {
	max time.Duration
	now func() time.Time // monotonic

	mu     sync.Mutex // guards what follows
	proved time.Time  // when the last proof began
	failed time.Time  // when the last attempt failed
}

// note notes how an attempt ended that began at a time.
func (f *fresh) note(began time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.failed = f.now()
	case began.After(f.proved):
		f.proved = began
	}
}

// need reports whether a proof is needed, and whether it is worth trying.
func (f *fresh) need() (need, try bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	return now.Sub(f.proved) > f.max, now.Sub(f.failed) > proofPause
}

// reader is a request that reads the state. It may ask for what this member has, however old.
type reader interface{ GetRead() *tenurev1.ReadOptions }

// current refuses what is answered with the state of this member, if credentials are looked at and it did not prove for too long that it
// knows all rules, and whether they are enforced: one that was cut off in mode warn cannot know what became of the mode. It tries to prove it
// first. This is for stale reads, new streams and the list of the pool. Changes are proved in the log, and linearizable reads by themselves, which
// WhoAmI and CheckAccess are, too. GetStatus is answered without a bound: operators need it just then. So is whether a program may report a check to
// the agent inside this member: see Local.
func (a *Authority) current(ctx context.Context) error {
	if a.node.Store().Rights.Now().Mode <= storev1.AuthMode_AUTH_MODE_OFF {
		return nil
	}
	need, try := a.fresh.need()
	if !need {
		return nil
	}
	if try && a.prove(ctx) == nil {
		return nil
	}
	return a.errOld()
}

// errOld refuses what would be answered with a state that may be too old.
func (a *Authority) errOld() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
		"this member could not prove for %v that it knows which rights were taken away, so it shows nothing; another one may", a.fresh.max)
}

// Current does for a call that has waited what current does when it comes: the proof from before the wait may be too old by now. A nil grant is that
// of a call about which there was nothing to decide.
func (g *Grant) Current(ctx context.Context) error {
	if g == nil {
		return nil
	}
	return g.authority.current(ctx)
}

// prove proves that this member has all that was committed.
func (a *Authority) prove(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	return a.proveUntil(short, ctx)
}

// proveUntil is prove for as long as short lasts, which is the caller's context or a part of it.
func (a *Authority) proveUntil(short, caller context.Context) error {
	began := a.fresh.now()
	err := a.node.ReadIndex(short)
	if err == nil || caller.Err() == nil { // Else it was the caller who gave up.
		a.fresh.note(began, err)
	}
	return err
}
