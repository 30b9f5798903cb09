package tenure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/clients/go/internal/memnet"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestTheZeroErrorHasAText(t *testing.T) {
	tests := map[string]struct {
		err  *tenure.Error
		want string
	}{
		"nothing is known": {&tenure.Error{}, "unknown error (applied: unknown)"},
		"a message":        {&tenure.Error{Message: "odd", Applied: tenure.AppliedNo}, "odd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.err.Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if errors.Is(test.err, tenure.ErrInternal) || tenure.KindOf(test.err) != nil {
				t.Errorf("it is of the kind %v", tenure.KindOf(test.err))
			}
		})
	}
	if got := tenure.AppliedOf(&tenure.Error{}); got != tenure.AppliedUnknown {
		t.Errorf("applied %q, want %q", got, tenure.AppliedUnknown)
	}
}

func TestTheZeroGateHasSeenNothing(t *testing.T) {
	var g tenure.FenceGate
	if err := g.Check(tenure.Sequencer{Key: "a", Token: 2}); err != nil {
		t.Error(err)
	}
	if err := g.Check(tenure.Sequencer{Key: "a", Token: 1}); !errors.Is(err, tenure.ErrStaleToken) {
		t.Errorf("got %v, want ErrStaleToken", err)
	}
}

// refuser answers every put with one error.
type refuser struct {
	tenurev1.UnimplementedKVServiceServer

	err error
}

func (r *refuser) Put(context.Context, *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	return nil, r.err
}

func TestAnErrorOfAnotherHandSaysNothingOfWhatWasApplied(t *testing.T) {
	tests := map[string]struct {
		facts map[string]string
		want  tenure.Applied
	}{
		"without a word of it": {nil, tenure.AppliedUnknown},
		"in a word of its own": {map[string]string{"applied": "perhaps"}, tenure.AppliedUnknown},
		"as a member says it":  {map[string]string{"applied": "yes"}, tenure.AppliedYes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := status.New(codes.PermissionDenied, "no way").WithDetails(&errdetails.ErrorInfo{
				Reason: "PROXY_SAYS_NO", Domain: "proxy.example", Metadata: test.facts,
			})
			if err != nil {
				t.Fatal(err)
			}
			network := memnet.New()
			tenurev1.RegisterKVServiceServer(network.Listen("p:1"), &refuser{err: s.Err()})
			c, err := tenure.Open("tenure://p:1", tenure.OverMemory(network))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_, err = c.KV().Put(t.Context(), "a", nil)
			if !errors.Is(err, tenure.ErrAuth) || tenure.AppliedOf(err) != test.want {
				t.Errorf("got %v, applied %q, want %q", err, tenure.AppliedOf(err), test.want)
			}
		})
	}
}

func TestACallThatEndsWithAHoldTellsWhyAndWhatBecameOfIt(t *testing.T) {
	lose := func(b *bubble, _ *tenure.Held) { b.breakLock("app/a", true) }
	release := func(_ *bubble, held *tenure.Held) { go func() { _ = held.Release(context.Background()) }() }
	tests := map[string]struct {
		end     func(b *bubble, held *tenure.Held)
		sent    bool
		why     error
		outcome error
		applied tenure.Applied
	}{
		"lost after it was sent":      {lose, true, tenure.ErrLockLost, tenure.ErrOutcomeUnknown, tenure.AppliedUnknown},
		"lost before it was sent":     {lose, false, tenure.ErrLockLost, tenure.ErrUnavailable, tenure.AppliedNo},
		"released after it was sent":  {release, true, tenure.ErrReleased, tenure.ErrOutcomeUnknown, tenure.AppliedUnknown},
		"released before it was sent": {release, false, tenure.ErrReleased, tenure.ErrUnavailable, tenure.AppliedNo},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				held := b.acquire(t, "a")
				work, done := held.Context(t.Context())
				defer done()
				b.mu.Lock()
				if b.slow["app/k"] = true; test.sent {
					b.slow["app/k"], b.loseNext = false, 1<<20
				}
				b.mu.Unlock()
				ended := make(chan error, 1)
				go func() {
					_, err := b.client.KV().Put(work, "k", nil)
					ended <- err
				}()
				synctest.Wait()
				test.end(b, held)
				err := <-ended
				for _, want := range []error{test.why, test.outcome, context.Canceled} {
					if !errors.Is(err, want) {
						t.Errorf("got %v, which is not: %v", err, want)
					}
				}
				if got := tenure.AppliedOf(err); got != test.applied || tenure.KindOf(err) != test.outcome { //nolint:errorlint // It is the kind itself.
					t.Errorf("%v: applied %q, kind %v, want %q and %v", err, got, tenure.KindOf(err), test.applied, test.outcome)
				}
			})
		})
	}
}

func TestACallThatEndsWithItsSessionTellsWhatBecameOfIt(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.loseNext = 1 << 20
		b.mu.Unlock()
		ended := make(chan error, 1)
		go func() {
			_, err := b.session.KV().Put(t.Context(), "k", nil)
			ended <- err
		}()
		pass(time.Second)
		_ = b.session.Close()
		err := <-ended
		if !errors.Is(err, tenure.ErrSessionClosed) || !errors.Is(err, tenure.ErrOutcomeUnknown) || tenure.AppliedOf(err) != tenure.AppliedUnknown {
			t.Errorf("got %v, want ErrSessionClosed and that the outcome is unknown", err)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("got %v, but its caller's context has not ended", err)
		}
	})
}

func TestACallIsNotTakenForWhatElseOfItsCallersFailed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Silence(true) })
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		ended := make(chan error, 1)
		go func() {
			_, err := b.client.KV().Put(ctx, "k", nil)
			ended <- err
		}()
		synctest.Wait()
		cancel(&tenure.Error{Kind: tenure.ErrKeyNotFound, Applied: tenure.AppliedNo}) // As of another call of an errgroup.
		if err := <-ended; errors.Is(err, tenure.ErrKeyNotFound) || !errors.Is(err, tenure.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want ErrOutcomeUnknown and context.Canceled", err)
		}
		b.each(func(m *fakeMember) { m.Silence(false) })
	})
}

func TestACallThatIsOverBeforeItBeginsIsNeverSent(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.client.KV().Put(ctx, "k", nil)
		if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, context.Canceled) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrUnavailable, context.Canceled and that nothing was applied", err)
		}
	})
}
