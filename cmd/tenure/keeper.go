package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Bounds of a keeper's times.
const (
	// renewEveryMax is how often a session is renewed at least, also one without TTL: then to see that it lives.
	renewEveryMax = 10 * time.Second
	// answerPatienceMin and answerPatienceMax bound how long a member may take to answer a renewal.
	answerPatienceMin = 250 * time.Millisecond
	answerPatienceMax = 5 * time.Second
)

// ownSession is a session that this program acts as.
type ownSession struct {
	id     string
	secret []byte
	epoch  uint64
	ttl    time.Duration
	// every is how often to renew.
	every time.Duration
	// safeUntil is the moment up to which it lives for certain, by its creation. Zero without TTL.
	safeUntil time.Duration
}

// options returns what every call under the session carries.
func (s *ownSession) options() *tenurev1.CallOptions {
	if len(s.secret) == 0 {
		return nil
	}
	return &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: s.epoch}
}

// keeper keeps one session alive over KeepAlive streams, from member to member, until it is told to stop or the cluster
// says that the session has ended. It never gives up by itself: the lease is the caller's to watch.
type keeper struct {
	members *members
	clock   clock
	session *ownSession
	// note tells people that renewing got hard, or easy again.
	note func(format string, args ...any)
	// renewed is called after each acknowledged renewal, from the goroutine of run. It must not block.
	renewed func(until time.Duration)

	number   uint64
	troubled bool

	mu    sync.Mutex // Guards until.
	until time.Duration
}

// newKeeper returns a keeper; run starts it.
func newKeeper(m *members, c clock, s *ownSession, note func(format string, args ...any)) *keeper {
	return &keeper{members: m, clock: c, session: s, note: note, renewed: func(time.Duration) {}, until: s.safeUntil}
}

// safeUntil returns the moment up to which the session lives for certain. It means nothing without TTL.
func (k *keeper) safeUntil() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.until
}

// start renews in the background until stop is called, which waits for the end. What run returns goes to losses, which must
// have room.
func (k *keeper) start(ctx context.Context, losses chan<- error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { losses <- k.run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// run renews until ctx ends, and returns nil then. It returns a *sessionEndedError when the session has ended.
func (k *keeper) run(ctx context.Context) error {
	pause := backoff{}
	for {
		renewals := k.number
		l, err := k.members.link(ctx)
		if err == nil {
			err = k.renewOver(ctx, l)
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Being told to stop is not a failure.
		}
		if ended, ok := errors.AsType[*sessionEndedError](err); ok {
			return ended
		}
		k.members.drop(l)
		if !k.troubled {
			k.troubled = true
			k.note("Cannot renew session %s (%s); trying again.", k.session.id, printable(errorText(err)))
		}
		if k.number > renewals+1 {
			pause.reset()
		}
		if !pause.wait(ctx) {
			return nil
		}
	}
}

// renewOver renews over one stream until it breaks.
func (k *keeper) renewOver(ctx context.Context, l *link) error {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := l.sessions().KeepAlive(ctx)
	if err != nil {
		cancel()
		return err
	}
	verdicts := make(chan *tenurev1.RenewalVerdict)
	broken := make(chan error, 1)
	var reader sync.WaitGroup
	reader.Go(func() { broken <- receiveVerdicts(ctx, stream, verdicts) })
	defer reader.Wait()
	defer cancel()
	return k.converse(ctx, stream, verdicts, broken)
}

// receiveVerdicts hands on what comes over a stream until it breaks or ctx ends.
func receiveVerdicts(ctx context.Context, stream grpc.BidiStreamingClient[tenurev1.KeepAliveRequest,
	tenurev1.KeepAliveResponse], verdicts chan<- *tenurev1.RenewalVerdict,
) error {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errStreamEnded
		}
		if err != nil {
			return err
		}
		for _, verdict := range answer.GetVerdicts() {
			select {
			case verdicts <- verdict:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// converse sends a renewal, waits for its verdict, pauses, and so on, until something breaks.
func (k *keeper) converse(ctx context.Context, stream grpc.BidiStreamingClient[tenurev1.KeepAliveRequest,
	tenurev1.KeepAliveResponse], verdicts <-chan *tenurev1.RenewalVerdict, broken <-chan error,
) error {
	patience := min(max(k.session.every, answerPatienceMin), answerPatienceMax)
	timer := time.NewTimer(0)
	defer timer.Stop()
	waiting := false
	var sent time.Duration
	for {
		select {
		case <-timer.C:
			if waiting {
				return fmt.Errorf("renewal: %w within %v", errNoAnswer, patience)
			}
			k.number++
			sent = k.clock()
			if err := stream.Send(k.renewal()); err != nil {
				return <-broken // The reader knows why.
			}
			waiting = true
			timer.Reset(patience)
		case verdict := <-verdicts:
			if verdict.GetNumber() != k.number || verdict.GetSessionId() != k.session.id {
				continue
			}
			if err := k.take(verdict, sent); err != nil {
				return err
			}
			waiting = false
			timer.Reset(k.session.every)
		case err := <-broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renewal returns the next message.
func (k *keeper) renewal() *tenurev1.KeepAliveRequest {
	return &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{
		SessionId: k.session.id,
		Epoch:     k.session.options().GetEpoch(),
		Number:    k.number,
		Secret:    k.session.secret,
	}}}
}

// take acts on the verdict about a renewal that was sent at a moment.
func (k *keeper) take(verdict *tenurev1.RenewalVerdict, sent time.Duration) error {
	switch reason := verdict.GetRefused(); reason {
	case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		return &sessionEndedError{id: k.session.id, cause: "no member knows it"}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED:
		return &sessionEndedError{id: k.session.id, cause: "it expired or was destroyed"}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED:
		return &sessionEndedError{id: k.session.id, cause: "another process took it over"}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return &sessionEndedError{id: k.session.id, cause: "its secret is not the right one"}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		return &sessionEndedError{id: k.session.id, cause: "its id is not a UUID"}
	default:
		return fmt.Errorf("refused for now: %s", reasonText(reason))
	}
	if k.troubled {
		k.troubled = false
		k.note("Session %s is renewed again.", k.session.id)
	}
	until := safeUntil(sent, verdict.GetTtl().AsDuration())
	k.mu.Lock()
	k.until = max(k.until, until)
	until = k.until
	k.mu.Unlock()
	k.renewed(until)
	return nil
}
