package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Pauses between attempts: the first, and the longest.
const (
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
)

// repeatable tells whether a call may be made again when its answer was lost.
type repeatable bool

const (
	// mayRepeat is for reads, and for changes that do the same when made twice.
	mayRepeat repeatable = true
	// onlyOnce is for other changes: they are made again only if the member said that nothing was applied.
	onlyOnce repeatable = false
)

// call makes a call to a member, and to the next one if the first is not available, until ctx ends. If no member can be
// connected to, it fails at once.
func (m *members) call(ctx context.Context, again repeatable, f func(ctx context.Context, l *link) error) error {
	pause := backoff{}
	var before error
	for {
		l, err := m.link(ctx)
		if err != nil {
			return err
		}
		err = f(ctx, l)
		if err != nil && before != nil && ctx.Err() != nil {
			return &lateError{err: err, before: before}
		}
		if strange(err) {
			return &strangerError{endpoint: l.endpoint, err: err}
		}
		if err == nil || !unavailable(ctx, err) {
			return err
		}
		before = err
		if again == onlyOnce && !nothingApplied(err) {
			return errors.Join(errOutcomeUnknown, err)
		}
		m.drop(l)
		if !pause.wait(ctx) {
			return err
		}
	}
}

// unavailable tells whether another attempt, or another member, may bring a better answer. A connection that was closed
// under the call counts; a call whose own time is over does not.
func unavailable(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.Canceled:
		return errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	default:
		return false
	}
}

// strange tells whether who answered is not a member. An older member is one: it knows the service, and not the method.
func strange(err error) bool {
	return status.Code(err) == codes.Unimplemented && errorinfo.Of(err) == nil &&
		!strings.HasPrefix(status.Convert(err).Message(), "unknown method")
}

// nothingApplied tells whether the member said that the call changed nothing.
func nothingApplied(err error) bool {
	info := errorinfo.Of(err)
	return info.GetMetadata()["applied"] == "no"
}

// backoff is a growing pause with full jitter.
type backoff struct {
	attempt int
}

// next returns the next pause.
func (b *backoff) next() time.Duration {
	bound := min(pauseMax, pauseMin<<min(b.attempt, 10))
	b.attempt++
	return 1 + rand.N(bound) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// wait waits for the next pause, and tells whether it ended before ctx did.
func (b *backoff) wait(ctx context.Context) bool {
	return pauseFor(ctx, b.next())
}

// pauseFor waits, and tells whether the time passed before ctx ended.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
