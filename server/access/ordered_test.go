package access

import (
	"errors"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestARevokedCallerIsNotToldThatNothingWasApplied has the first attempt of a change reach a leader whose answer is lost. The next leader has heard of
// a revocation, and refuses the second attempt without a look at what the first one did.
func TestARevokedCallerIsNotToldThatNothingWasApplied(t *testing.T) {
	outdated := &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD}}
	for name, lost := range map[string]error{
		"an answer was lost": reason.UnknownOutcome(errors.New("the leader is gone")), "none was": nil,
	} {
		t.Run(name, func(t *testing.T) {
			member, a, caller := lagging(t, `key * rw`)
			ctx, err := a.Call(t.Context(), caller, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"})
			if err != nil {
				t.Fatal(err)
			}
			attempts := 0
			_, err = Ordered(ctx, member.Store, func(string, uint64) (*storev1.Result, error) {
				attempts++
				member.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: "p"}})
				return outdated, lost
			})
			e := reason.Of(err)
			if e == nil || attempts != 1 {
				t.Fatalf("got %v after %d attempts, want an error after one", err, attempts)
			}
			want := tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
			if lost != nil {
				want = tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN
			}
			if e.Reason != want {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

// TestWhatComesOfALaterAttemptIsTold decides about a change again, and has it applied or refused then.
func TestWhatComesOfALaterAttemptIsTold(t *testing.T) {
	outdated := &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD}}
	lost := reason.UnknownOutcome(errors.New("the leader is gone"))
	full := reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "full")
	for name, c := range map[string]struct {
		result *storev1.Result
		err    error
		want   tenurev1.ErrorReason
	}{
		"it is done":            {&storev1.Result{Revision: 7}, nil, 0},
		"a rule refuses it":     {&storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED}}, nil, 0},
		"it is not even tried":  {nil, full, tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN},
		"its rights come again": {outdated, nil, tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN},
	} {
		t.Run(name, func(t *testing.T) {
			g := remembering(t, "service/15/a", 0)
			ctx, err := g.authority.Call(t.Context(), g.caller, g.method, &tenurev1.PutRequest{Key: "service/15/a"})
			if err != nil {
				t.Fatal(err)
			}
			answers := []func() (*storev1.Result, error){func() (*storev1.Result, error) { return outdated, lost }}
			result, err := Ordered(ctx, g.authority.node.Store, func(string, uint64) (*storev1.Result, error) {
				if len(answers) > 0 {
					answer := answers[0]
					answers = answers[1:]
					return answer()
				}
				return c.result, c.err
			})
			var got tenurev1.ErrorReason
			if e := reason.Of(err); e != nil {
				got = e.Reason
			}
			if got != c.want || err == nil && result != c.result {
				t.Errorf("got %v, %v; want reason %v", result, err, c.want)
			}
		})
	}
}
