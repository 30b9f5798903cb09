package tenure_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fakeBreaks is what a member does about breaks: the answers to give, in order, and what it was asked. After them it refuses.
type fakeBreaks struct {
	answers []*tenurev1.BreakLockResponse
	asked   []*tenurev1.BreakLockRequest
}

func (m *fakeMember) BreakLock(_ context.Context, r *tenurev1.BreakLockRequest) (*tenurev1.BreakLockResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	f.breaks.asked = append(f.breaks.asked, r)
	if len(f.breaks.asked) > len(f.breaks.answers) {
		return nil, refusal(codes.InvalidArgument, tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "no")
	}
	return f.breaks.answers[len(f.breaks.asked)-1], nil
}

// TestABreakGoesOnUntilNoHoldRemains has a member that breaks some holds in a call.
func TestABreakGoesOnUntilNoHoldRemains(t *testing.T) {
	some := []*tenurev1.BreakLockResponse{
		{Holds: 3, Remaining: 3, BreakToken: "a"}, {Holds: 2, Remaining: 1, BreakToken: "b"}, {Holds: 1},
	}
	tests := map[string]struct {
		answers []*tenurev1.BreakLockResponse
		holds   int
		err     error
		says    string
	}{
		"at once":                  {answers: some[2:], holds: 1},
		"in three calls":           {answers: some, holds: 6},
		"not to its end":           {answers: some[:2], holds: 5, err: tenure.ErrInvalidArgument, says: "5 holds were broken, and 1 remain: "},
		"refused before it begins": {err: tenure.ErrInvalidArgument},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.breaks.answers = test.answers
				holds, err := b.client.BreakLock(t.Context(), "k", "why")
				if holds != test.holds || !errors.Is(err, test.err) {
					t.Fatalf("got %d holds, %v; want %d, %v", holds, err, test.holds, test.err)
				}
				if err != nil && len(err.Error()) < len(test.says) || err != nil && err.Error()[:len(test.says)] != test.says {
					t.Errorf("got error %q, want it to begin with %q", err, test.says)
				}
				var tokens, keys []string
				for _, r := range b.breaks.asked {
					tokens, keys = append(tokens, r.GetBreakToken()), append(keys, string(r.GetOptions().GetIdempotencyKey()))
				}
				if want := []string{"", "a", "b"}[:len(tokens)]; !slices.Equal(tokens, want) {
					t.Errorf("got tokens %q, want %q", tokens, want)
				}
				if slices.Sort(keys); len(slices.Compact(keys)) != len(tokens) {
					t.Errorf("got idempotency keys %q, want one for each of %d calls", keys, len(tokens))
				}
			})
		})
	}
}
