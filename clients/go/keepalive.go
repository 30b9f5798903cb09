package tenure

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// How long a member may take to answer a renewal, at least and at most.
const (
	renewalPatienceMin = 250 * time.Millisecond
	renewalPatienceMax = 5 * time.Second
)

var (
	errNoVerdict   = errors.New("a renewal was not answered in time")
	errStreamEnded = errors.New("the member ended the stream")
)

// patience returns how long a renewal may be without verdict.
func (s *Session) patience() time.Duration {
	if s.ttl == 0 {
		return renewalPatienceMax
	}
	return min(renewalPatienceMax, max(renewalPatienceMin, s.ttl/3))
}

// keepAlive renews the session from member to member, until ctx ends or the session is over. Attach tells whether to ask for the truth
// before the first renewal.
func (s *Session) keepAlive(ctx context.Context, attach bool) {
	pauses := &backoff.Backoff{}
	for {
		if !s.client.pool.Connected() {
			s.linkDown()
		}
		l, err := s.client.pool.Get(ctx)
		if err != nil {
			return // Told to stop; the pool itself never gives up.
		}
		k := &keeper{session: s, link: l, attach: attach, good: pauses.Reset}
		err = k.run(ctx)
		moved := errors.Is(err, errMoved)
		if err != nil && ctx.Err() == nil && !moved && !errors.Is(err, errOver) {
			l.Fail()
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

// errOver says that the session is over.
var errOver = errors.New("the session is over")

// keeper renews a session over one link.
type keeper struct {
	session *Session
	link    *conn.Link
	attach  bool
	good    func() // Called after a good answer.

	stream  grpc.BidiStreamingClient[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	answers chan *tenurev1.KeepAliveResponse
	broken  chan error

	number  uint64
	sent    time.Duration
	waiting time.Duration // When the first renewal was sent that is without a good verdict; meaningful while unanswered.
	open    bool          // Whether a renewal is without verdict.
	refused backoff.Backoff
}

// run renews until something breaks, and tells what.
func (k *keeper) run(ctx context.Context) error {
	if k.attach {
		if err := k.askTruth(ctx); err != nil {
			return err
		}
	}
	ctx, end := onLink(ctx, k.link)
	defer end()
	stream, err := tenurev1.NewSessionServiceClient(k.link).KeepAlive(ctx)
	if err != nil {
		return k.why(ctx, err)
	}
	k.stream, k.answers, k.broken = stream, make(chan *tenurev1.KeepAliveResponse), make(chan error, 1)
	go k.read(ctx)
	err = k.converse(ctx)
	end()
	for range k.answers { // The reader ends; what it still has is not wanted.
		continue
	}
	return err
}

// why returns what ended a stream.
func (k *keeper) why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// askTruth attaches: it learns what the session holds, and gives back what ended here meanwhile.
func (k *keeper) askTruth(ctx context.Context) error {
	s := k.session
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	answer, err := s.truth(ctx, k.link)
	if reasonOf(err) == tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED {
		// A later attempt was served before it, and its answer was lost: this process still is the user.
		answer, err = s.truth(ctx, k.link)
	}
	if err == nil {
		k.link.Answered()
		s.reconcile(answer)
		return nil
	}
	if cause := finalCause(reasonOf(err)); cause != CauseNone {
		s.end(cause)
		return errOver
	}
	return err
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

// read hands on what comes over the stream until it breaks.
func (k *keeper) read(ctx context.Context) {
	defer close(k.answers)
	for {
		answer, err := k.stream.Recv()
		if errors.Is(err, io.EOF) {
			err = errStreamEnded
		}
		if err != nil {
			k.broken <- k.why(ctx, err)
			return
		}
		select {
		case k.answers <- answer:
		case <-ctx.Done():
			k.broken <- context.Cause(ctx)
			return
		}
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
			if err := k.send(); err != nil {
				return k.whyBroken()
			}
			timer.Reset(s.patience())
		case answer, ok := <-k.answers:
			if !ok {
				return <-k.broken
			}
			k.hints(answer)
			pause, err := k.verdict(answer)
			if err != nil {
				return err
			}
			if pause > 0 {
				timer.Reset(pause)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// whyBroken waits until the reader tells what broke the stream.
func (k *keeper) whyBroken() error {
	for {
		select {
		case err := <-k.broken:
			return err
		case <-k.answers: // So that the reader comes to it.
		}
	}
}

// send sends a renewal.
func (k *keeper) send() error {
	s := k.session
	k.number++
	k.open = true
	k.sent = s.client.clock()
	if k.waiting == 0 {
		k.waiting = k.sent
	}
	return k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{
		SessionId: s.id, Epoch: s.epoch, Number: k.number, Secret: s.secret,
	}}})
}

// verdict acts on the verdict in an answer, if it has one for the renewal that is under way, and returns how long to wait before
// the next renewal.
func (k *keeper) verdict(answer *tenurev1.KeepAliveResponse) (pause time.Duration, err error) {
	s := k.session
	for _, v := range answer.GetVerdicts() {
		if v.GetSessionId() != s.id || v.GetNumber() != k.number || !k.open {
			continue
		}
		k.open = false
		reason := v.GetRefused()
		if reason == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			k.link.Answered()
			k.good()
			k.waiting = 0
			k.refused.Reset()
			if s.renewed(k.sent, v.GetTtl().AsDuration()) {
				s.giveBackDue()
			}
			wake(s.onRenewed)
			return jittered(s.every), nil
		}
		if cause := finalCause(reason); cause != CauseNone {
			s.end(cause)
			return 0, errOver
		}
		if elsewhere(reason) || s.client.clock()-k.waiting > s.patience() {
			return 0, errors.New("renewal refused: " + reason.String())
		}
		return k.refused.Next(), nil
	}
	return 0, nil
}

// elsewhere tells whether a refusal of a renewal stands until it comes over another stream.
func elsewhere(reason tenurev1.ErrorReason) bool {
	return reason == tenurev1.ErrorReason_ERROR_REASON_STOPPING || reason == tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
}

// jittered returns a time within 10 % of d.
func jittered(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// hints looks at what the member says happened to the session's locks.
func (k *keeper) hints(answer *tenurev1.KeepAliveResponse) {
	s := k.session
	for _, hint := range answer.GetHints() {
		lost := hint.GetLost()
		if lost == nil || hint.GetSessionId() != s.id {
			continue
		}
		s.mu.Lock()
		s.lookAtLease() // After a pause of this process the lease ran out first.
		if h := s.holdings.lost(lost); h != nil {
			s.endHeld(h, EndTakenAway)
		}
		s.mu.Unlock()
	}
}
