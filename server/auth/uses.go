package auth

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/storage"
)

const (
	// usesEvery is about how often a member notes which tokens were used.
	usesEvery = 5 * time.Minute
	// usesOrderMax is how long it waits for one batch to be ordered, and usesLastMax for all of them when it stops.
	usesOrderMax = 10 * time.Second
	usesLastMax  = time.Second
)

// dayOf returns when a day begins; nil for the day zero.
func dayOf(day uint32) *timestamppb.Timestamp {
	return instant(int64(day) * (24 * time.Hour).Milliseconds())
}

// UsesOptions are what Uses needs.
type UsesOptions struct {
	// Store is the state machine.
	Store func() *storage.Store
	// Used returns the tokens that were used at this member since it was called last.
	Used func() map[access.Accessor]struct{}
	// Order has a command ordered by the leader, whichever member that is.
	Order func(context.Context, *storev1.Command) (*storev1.Result, error)
	// Logger takes what may heal itself.
	Logger *zap.Logger
	// Every is about how often it looks; zero is 5 minutes.
	Every time.Duration
	// Now is the wall clock; nil is the machine's.
	Now func() time.Time
}

// Uses notes in the state on which day tokens were last used at this member: at most once a day for each token. It belongs to one goroutine.
type Uses struct {
	options UsesOptions
	pending map[access.Accessor]uint32 // the day of each token that is not noted yet
}

// NewUses returns what notes which tokens are used.
func NewUses(o UsesOptions) *Uses {
	if o.Every == 0 {
		o.Every = usesEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Uses{options: o, pending: map[access.Accessor]uint32{}}
}

// Run notes uses until ctx ends, and then once more.
func (u *Uses) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := u.options.Every*3/4 + rand.N(u.options.Every/2+1) //nolint:gosec // Jitter needs no secret.
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			u.look(ctx)
		case <-ctx.Done():
			timer.Stop()
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), usesLastMax)
	defer cancel()
	u.look(last)
}

// look notes what was used, and logs why not all of it could be. The rest has its turn at the next look.
func (u *Uses) look(ctx context.Context) {
	if err := u.Next(ctx); err != nil && ctx.Err() == nil {
		u.options.Logger.Warn("days of last use are not written yet", zap.Int("tokens", len(u.pending)), zap.Error(err))
	}
}

// Next notes what was used since it was called last, and what it could not note then.
func (u *Uses) Next(ctx context.Context) error {
	used := u.options.Used()
	at := u.options.Store().Applied()
	if at.AuthMode <= storev1.AuthMode_AUTH_MODE_OFF || !storage.KnowsPrincipals(at.ClusterVersion) {
		clear(u.pending)
		return nil
	}
	today := storage.DayOf(u.options.Now().UnixMilli())
	for accessor := range used {
		u.pending[accessor] = today
	}
	if len(u.pending) == 0 {
		return nil
	}
	if err := u.dropKnown(); err != nil {
		return err
	}
	for len(u.pending) > 0 {
		if err := u.order(ctx, u.batch()); err != nil {
			return err
		}
	}
	return nil
}

// dropKnown forgets what the state knows already, and the tokens that it does not have any more.
func (u *Uses) dropKnown() (err error) {
	s := u.options.Store().NewReader()
	defer func() { err = errors.Join(err, s.Close()) }()
	for accessor, day := range u.pending {
		t, err := s.Token(accessor[:])
		if err != nil {
			return err
		}
		if t == nil || t.GetLastUsedDay() >= day {
			delete(u.pending, accessor)
		}
	}
	return nil
}

// batch returns some of the tokens that were last used on the same day.
func (u *Uses) batch() *storev1.TokensUsed {
	b := &storev1.TokensUsed{}
	for accessor, day := range u.pending {
		if b.GetDay() == 0 {
			b.Day = day
		}
		if day == b.GetDay() && len(b.GetAccessors()) < storage.TokensUsedMax {
			b.Accessors = append(b.Accessors, accessor[:])
		}
	}
	return b
}

// order has a batch ordered. What the state machine refuses, as with a clock that is days ahead, is not tried again.
func (u *Uses) order(ctx context.Context, b *storev1.TokensUsed) error {
	ctx, cancel := context.WithTimeout(ctx, usesOrderMax)
	defer cancel()
	_, err := u.options.Order(ctx, &storev1.Command{
		WallTimeMs: u.options.Now().UnixMilli(),
		Kind:       &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{Change: &storev1.ChangeAuth_TokensUsed{TokensUsed: b}}},
	})
	if err != nil {
		return err
	}
	for _, accessor := range b.GetAccessors() {
		delete(u.pending, access.Accessor(accessor))
	}
	return nil
}
