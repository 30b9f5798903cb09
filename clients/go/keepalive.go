package tenure

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// How long a member may take to answer a renewal, at least and at most.
const (
	renewalPatienceMin = 250 * time.Millisecond
	renewalPatienceMax = 5 * time.Second
)

// reconcileEvery is how often a session asks which of its holds the cluster still counts: a hint that one was lost may not have come.
const reconcileEvery = 30 * time.Second

var (
	errNoVerdict   = errors.New("a renewal was not answered in time")
	errStreamEnded = errors.New("the member ended the stream")
	errNoRight     = &Error{
		Kind: ErrAuth, Reason: "PERMISSION_DENIED", Applied: AppliedNo, Message: "the right to renew the session is gone",
	}
	errNoCredential = &Error{
		Kind: ErrAuth, Reason: "UNAUTHENTICATED", Applied: AppliedNo, Message: "the credential is no longer accepted",
	}
)

// keepAlive renews a session from member to member, until ctx ends or the session is over. Attach tells whether to ask for the truth
// before the first renewal.
func keepAlive(ctx context.Context, s *Session, attach bool) {
	pauses, denied := &backoff.Backoff{}, &denials{}
	for {
		l := s.client.pool.Current()
		if l == nil {
			s.linkDown()
			var err error
			if l, err = s.client.pool.Get(ctx); err != nil {
				return // Told to stop; the pool itself never gives up.
			}
		}
		k := &keeper{session: s, link: l, attach: attach, good: pauses.Reset, denied: denied}
		err := k.run(ctx)
		moved := errors.Is(err, errMoved)
		if err != nil && ctx.Err() == nil && !moved && !errors.Is(err, errOver) {
			l.Fail()
			s.failed(err)
			s.linkDown()
		}
		l.Release()
		if ctx.Err() != nil || errors.Is(err, errOver) {
			return
		}
		attach = true
		if !moved && !pauses.Wait(ctx) {
			return
		}
	}
}

// guard looks at a session's lease until ctx ends, so that it runs out in time although nobody asks.
func guard(ctx context.Context, s *Session) {
	timer := time.NewTimer(guardOnce(s))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.watch:
		case <-timer.C:
		}
		timer.Reset(guardOnce(s))
	}
}

// guardOnce looks at the lease, and returns how long the next look may wait.
func guardOnce(s *Session) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait, e := s.lease.watch(s.client.clock(), s.custody.holdings.any())
	s.follow(e)
	return wait
}

// errOver says that the session is over.
var errOver = errors.New("the session is over")

// keeper renews a session over one link.
type keeper struct {
	session *Session
	link    *conn.Link
	attach  bool
	good    func() // Called after a good answer.

	stream   *renewer
	verdicts chan *tenurev1.RenewalVerdict

	number  uint64
	sent    time.Duration
	waiting time.Duration // When the first renewal was sent that is without a good verdict; meaningful while unanswered.
	open    bool          // Whether a renewal is without verdict.
	refused backoff.Backoff
	denied  *denials // Those of the session, whatever the link.

	renewed     bool        // Whether the stream has renewed the session: before that no hints come.
	reconcile   *time.Timer // Runs until the truth is asked for again.
	reconciling group       // Asks for it, beside the renewals.
}

// denialPauseMin bounds the first pause after a renewal that was refused for want of a right or of a credential.
const denialPauseMin = 100 * time.Millisecond

// denials are the renewals in a row that were refused so. Nothing in this process brings the right back; but if it comes, the session is renewed
// in time.
type denials struct{ n int }

// pause returns how long to wait before the next renewal of a session that is renewed so often, and whose lease lasts for so long: it never waits
// past the middle of what is left, for the right may come back until the end.
func (d *denials) pause(every, left time.Duration) time.Duration {
	bound := min(every, denialPauseMin<<min(d.n, 10))
	if left > 0 {
		bound = min(bound, max(denialPauseMin, left/2))
	}
	d.n++
	return bound/2 + rand.N(bound/2+1) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// run renews until something breaks, and tells what.
func (k *keeper) run(ctx context.Context) error {
	if k.attach {
		if err := k.askAllowed(ctx); err != nil {
			return err
		}
	}
	k.verdicts = make(chan *tenurev1.RenewalVerdict, 1)
	k.reconcile = time.NewTimer(reconcileEvery)
	defer k.reconcile.Stop()
	defer k.reconciling.stop()
	k.stream = k.session.client.renewers.join(k)
	defer k.stream.leave(k)
	return k.converse(ctx)
}

// askAllowed asks for the truth, more and more rarely while that is denied: all members say the same, so the connection, which others use, too, is as
// good as any.
func (k *keeper) askAllowed(ctx context.Context) error {
	for {
		err := k.askTruth(ctx)
		if _, denied := renewalRefusal(errorinfo.Reason(err)); !denied {
			return err
		}
		k.session.failed(err)
		k.session.linkDown()
		if err = k.rest(ctx, k.denialPause()); err != nil {
			return err
		}
	}
}

// denialPause returns how long to wait after the cluster denied a renewal.
func (k *keeper) denialPause() time.Duration {
	s := k.session
	s.mu.Lock()
	left := s.lease.safeFor(s.client.clock())
	s.mu.Unlock()
	return k.denied.pause(s.every, left)
}

// rest waits, unless the stream should move to another link; it returns why it did not wait.
func (k *keeper) rest(ctx context.Context, d time.Duration) error {
	linked, end := onLink(ctx, k.link)
	defer end()
	if backoff.Pause(linked, d) {
		return nil
	}
	return context.Cause(linked)
}

// askTruth attaches: it learns what the session holds, and gives back what ended here meanwhile.
func (k *keeper) askTruth(ctx context.Context) error {
	s := k.session
	ctx, cancel := context.WithTimeout(ctx, s.lease.patience())
	defer cancel()
	answer, err := s.attaching.truth(ctx, k.link)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED {
		// A later attempt was served before it, and its answer was lost: this process still is the user.
		answer, err = s.attaching.truth(ctx, k.link)
	}
	if err == nil {
		k.link.Answered()
		s.custody.reconcile(answer)
		return nil
	}
	if cause := finalCause(errorinfo.Reason(err)); cause != CauseNone {
		s.end(cause)
		return errOver
	}
	return err
}

// askBeside asks for the truth if a loss may have gone unheard, while renewals go on. If that fails, the next time will do.
func (k *keeper) askBeside() {
	k.reconcile.Reset(reconcileEvery)
	s := k.session
	s.mu.Lock()
	losable := s.custody.holdings.losable()
	s.mu.Unlock()
	if losable {
		k.reconciling.start(func(ctx context.Context) { _ = k.askTruth(ctx) })
	}
}

// finalCause returns how a refusal ends the session, or CauseNone if it may pass.
func finalCause(reason tenurev1.ErrorReason) Cause {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		return CauseExpired
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED, tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH:
		return CauseSuperseded
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return CauseAuthFailed
	default:
		return CauseNone
	}
}

// atOnce is how long a timer runs that is due now. With zero it would be due before anybody waits for it, at which Go 1.26
// crashes under the race detector in a bubble of testing/synctest.
const atOnce = time.Nanosecond

// converse sends a renewal, waits for its verdict, pauses, and so on, until something breaks.
func (k *keeper) converse(ctx context.Context) error {
	s := k.session
	timer := time.NewTimer(atOnce)
	defer timer.Stop()
	for {
		select {
		case <-s.poke:
			if k.open {
				continue
			}
			timer.Reset(atOnce)
		case <-timer.C:
			if k.open {
				return errNoVerdict
			}
			k.send()
			timer.Reset(s.lease.patience())
		case v := <-k.verdicts:
			pause, err := k.answered(ctx, v)
			if err != nil {
				return err
			}
			timer.Reset(pause)
		case <-k.reconcile.C:
			k.askBeside()
		case <-k.stream.broken:
			return k.stream.why
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send sends a renewal.
func (k *keeper) send() {
	s := k.session
	k.number = s.client.renewers.numbers.Add(1)
	k.open = true
	k.sent = s.client.clock()
	if k.waiting == 0 {
		k.waiting = k.sent
	}
	k.stream.send(k, &tenurev1.SessionRenewal{SessionId: s.id, Epoch: s.epoch, Number: k.number, Secret: s.secret})
}

// answered acts on what the stream says of the renewal that is under way, and returns how long to wait before the next renewal.
func (k *keeper) answered(ctx context.Context, told *tenurev1.RenewalVerdict) (pause time.Duration, err error) {
	v, err := k.decided(ctx, told)
	if err != nil {
		return 0, err
	}
	if pause, err = k.verdict(v); err != nil {
		return 0, err
	}
	if !k.renewed && told.GetRefused() == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		k.renewed = true
		k.askBeside() // What happened before this stream tells of it.
	}
	return pause, nil
}

// decided makes a renewal once more that the stream denied: a stream shows the token that it began with, and a call the present one. The call is
// also told that the session is over, which a stream does not tell whoever may not renew it.
func (k *keeper) decided(ctx context.Context, told *tenurev1.RenewalVerdict) (*tenurev1.RenewalVerdict, error) {
	if _, denied := renewalRefusal(told.GetRefused()); !denied {
		return told, nil
	}
	s := k.session
	linked, end := onLink(ctx, k.link)
	defer end()
	calling, cancel := context.WithTimeout(linked, s.lease.patience())
	defer cancel()
	answer, err := tenurev1.NewSessionServiceClient(k.link).RenewSession(calling, &tenurev1.RenewSessionRequest{
		SessionId: s.id, Options: s.calls.options(),
	})
	switch reason := errorinfo.Reason(err); {
	case err == nil:
		return &tenurev1.RenewalVerdict{SessionId: s.id, Ttl: answer.GetSession().GetTtl()}, nil
	case reason != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		return &tenurev1.RenewalVerdict{SessionId: s.id, Refused: reason}, nil
	case isAny(fromRPC(err), ErrAuth): // No token could be read.
		return told, nil
	case linked.Err() != nil:
		return nil, context.Cause(linked)
	default:
		return nil, err
	}
}

// verdict acts on the verdict for the renewal that is under way, and returns how long to wait before the next renewal.
func (k *keeper) verdict(v *tenurev1.RenewalVerdict) (pause time.Duration, err error) {
	s := k.session
	k.open = false
	reason := v.GetRefused()
	if reason == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		k.link.Answered()
		k.good()
		k.waiting = 0
		k.refused.Reset()
		k.denied.n = 0
		if s.renewed(k.sent, v.GetTtl().AsDuration()) {
			s.custody.giveBackDue()
		}
		wake(s.onRenewed)
		return jittered(s.every), nil
	}
	if cause := finalCause(reason); cause != CauseNone {
		s.end(cause)
		return 0, errOver
	}
	refusal, denied := renewalRefusal(reason)
	s.failed(refusal)
	late := s.client.clock()-k.waiting > s.lease.patience()
	if elsewhere(reason) || late && !denied {
		return 0, refusal
	}
	if denied { // All members say the same, so the connection, which others use, too, is as good as any.
		if late {
			s.linkDown()
		}
		return k.denialPause(), nil
	}
	return k.refused.Next(), nil
}

// renewalRefusal returns the error of a verdict that may pass, and whether it is for want of a right or of a credential.
func renewalRefusal(reason tenurev1.ErrorReason) (refusal error, denied bool) {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return errNoRight, true
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:
		return errNoCredential, true
	default:
		return errors.New("renewal refused: " + reason.String()), false
	}
}

// elsewhere tells whether a refusal of a renewal stands until it comes over another stream.
func elsewhere(reason tenurev1.ErrorReason) bool {
	return reason == tenurev1.ErrorReason_ERROR_REASON_STOPPING || reason == tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
}

// jittered returns a time within 10 % of d.
func jittered(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// hint looks at what the member says happened to a lock of the session. It does not wait.
func (k *keeper) hint(hint *tenurev1.SessionHint) {
	lost := hint.GetLost()
	if lost == nil {
		return
	}
	s := k.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look() // After a pause of this process the lease ran out first.
	if h := s.custody.holdings.lost(lost); h != nil {
		s.custody.end(h, EndTakenAway)
	}
}
