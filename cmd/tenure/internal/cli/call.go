package cli

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

// Repeatable tells whether a call may be made again when its answer was lost.
type Repeatable bool

const (
	// MayRepeat is for reads, and for changes that do the same when made twice.
	MayRepeat Repeatable = true
	// OnlyOnce is for other changes: they are made again only if the member said that nothing was applied.
	OnlyOnce Repeatable = false
)

// Call makes a call to a member, and to the next one if the first is not available, until ctx ends. If no member can be
// connected to, it fails at once.
func (m *Members) Call(ctx context.Context, again Repeatable, f func(ctx context.Context, l *Link) error) error {
	pause := Backoff{}
	var before error
	for {
		l, err := m.Link(ctx)
		if err != nil {
			return err
		}
		err = f(ctx, l)
		if err != nil && before != nil && ctx.Err() != nil {
			return &lateError{err: err, before: before}
		}
		if strange(err) {
			return &StrangerError{Endpoint: l.Endpoint, Err: err}
		}
		if err == nil || !unavailable(ctx, err) {
			return err
		}
		before = err
		if again == OnlyOnce && !NothingApplied(err) {
			return errors.Join(ErrOutcomeUnknown, err)
		}
		m.drop(l)
		if !pause.Wait(ctx) {
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

// NothingApplied tells whether the member said that the call changed nothing.
func NothingApplied(err error) bool {
	info := errorinfo.Of(err)
	return info.GetMetadata()["applied"] == "no"
}

// Backoff is a growing pause with full jitter.
type Backoff struct {
	attempt int
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	bound := min(pauseMax, pauseMin<<min(b.attempt, 10))
	b.attempt++
	return 1 + rand.N(bound) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// Wait waits for the next pause, and tells whether it ended before ctx did.
func (b *Backoff) Wait(ctx context.Context) bool {
	return PauseFor(ctx, b.Next())
}

// PauseFor waits, and tells whether the time passed before ctx ended.
func PauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
