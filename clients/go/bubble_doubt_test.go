package tenure_test

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestARefusedRetryDoesNotSayThatTheFirstAttemptWasNotApplied(t *testing.T) {
	tests := map[string]struct {
		code   codes.Code
		reason tenurev1.ErrorReason
		want   tenure.Applied
	}{
		"the right was taken away":      {codes.PermissionDenied, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, tenure.AppliedUnknown},
		"the token ran out":             {codes.Unauthenticated, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, tenure.AppliedUnknown},
		"a member takes less":           {codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, tenure.AppliedUnknown},
		"a member is at its limit":      {codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, tenure.AppliedUnknown},
		"a member is older":             {codes.Unimplemented, tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, tenure.AppliedUnknown},
		"the store is full":             {codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED, tenure.AppliedUnknown},
		"the result is forgotten":       {codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE, tenure.AppliedUnknown},
		"an agent has no such instance": {codes.NotFound, tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND, tenure.AppliedUnknown},
		"an agent has no such check":    {codes.NotFound, tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND, tenure.AppliedUnknown},
		"the state machine decided it":  {codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, tenure.AppliedNo},
		"it decided that a lock is had": {codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD, tenure.AppliedNo},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.mu.Lock()
				b.loseNext, b.refuseRest = 1, refusal(test.code, test.reason, "no")
				b.mu.Unlock()
				if _, err := b.client.KV().Put(t.Context(), "a", nil); err == nil || tenure.AppliedOf(err) != test.want {
					t.Errorf("got %v, applied %q, want %q", err, tenure.AppliedOf(err), test.want)
				}
			})
		})
	}
}

func TestARefusalOfAllAttemptsSaysThatNothingWasApplied(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.locks.tries = fates{denied()}
		b.mu.Unlock()
		_, _, err := b.session.Lock("a", tenure.WithValue(nil)).TryAcquire(t.Context())
		if !errors.Is(err, tenure.ErrAuth) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, applied %q, want ErrAuth and nothing applied", err, tenure.AppliedOf(err))
		}
		pass(time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.locks.cancels > 0 {
			t.Errorf("%d times it was given up, but there is nothing", b.locks.cancels)
		}
	})
}

func TestATryWhoseRetryIsRefusedLeavesNoHold(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.locks.tries = fates{lost(), denied()}
		b.mu.Unlock()
		if held, _, err := b.session.Lock("a").TryAcquire(t.Context()); !errors.Is(err, tenure.ErrAuth) || held != nil {
			t.Errorf("got %v and %v, want ErrAuth", held, err)
		}
		pass(time.Second)
		b.demandFree(t, "app/a")
	})
}

func TestALeaderWhoseResignationMayBeMadeNoLongerLeads(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lead, err := b.session.Election("a").Campaign(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		next := waitFor(t.Context(), b.session.Lock("a", tenure.WithOwner("next")))
		b.mu.Lock()
		b.locks.resigns = fates{lost(), denied()}
		b.mu.Unlock()
		if err = lead.ResignTo(t.Context(), b.session.ID(), "next"); !errors.Is(err, tenure.ErrAuth) || tenure.AppliedOf(err) != tenure.AppliedUnknown {
			t.Errorf("got %v, applied %q, want ErrAuth, and that it may be applied", err, tenure.AppliedOf(err))
		}
		if lead.Safe() || lead.Cause() == tenure.EndNone {
			t.Error("it believes that it leads")
		}
		if err = <-next; err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}
