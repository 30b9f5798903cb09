package reason_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

func TestErrorsBecomeStatuses(t *testing.T) {
	secret := errors.New("open /var/lib/x: permission denied")
	tests := map[string]struct {
		err     error
		code    codes.Code
		reason  string
		applied string
	}{
		"an error of the API keeps its reason": {
			reason.New(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "x"), codes.NotFound, "KEY_NOT_FOUND", "no",
		},
		"also when it is wrapped": {
			fmt.Errorf("get: %w", reason.New(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "x")),
			codes.NotFound, "KEY_NOT_FOUND", "no",
		},
		"a member that does not lead": {
			fmt.Errorf("put: %w", &raftnode.NotLeaderError{Leader: 7, Term: 2}), codes.Unavailable, "NOT_LEADER", "no",
		},
		"no leader":              {raftnode.ErrNoLeader, codes.Unavailable, "NO_LEADER", "no"},
		"a member that stops":    {raftnode.ErrStopped, codes.Unavailable, "STOPPING", "no"},
		"a store that is closed": {storage.ErrClosed, codes.Unavailable, "STOPPING", "no"},
		"too much under way":     {raftnode.ErrTooBusy, codes.ResourceExhausted, "TOO_MANY_REQUESTS", "no"},
		"a command too large":    {raftnode.ErrTooLarge, codes.ResourceExhausted, "TOO_LARGE", "no"},
		"a lost answer":          {raftnode.ErrOutcomeUnknown, codes.Unavailable, "OUTCOME_UNKNOWN", "unknown"},
		"a deadline before":      {fmt.Errorf("%w: %w", raftnode.ErrNotProposed, context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "no"},
		"a deadline after":       {fmt.Errorf("%w: %w", raftnode.ErrOutcomeUnknown, context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "unknown"},
		"a caller who gave up":   {fmt.Errorf("%w: %w", raftnode.ErrOutcomeUnknown, context.Canceled), codes.Canceled, "CANCELLED", "unknown"},
		"history that is gone":   {storage.ErrCompacted, codes.OutOfRange, "REVISION_COMPACTED", "no"},
		"history to come":        {storage.ErrFuture, codes.OutOfRange, "REVISION_FUTURE", "no"},
		"an unknown error":       {secret, codes.Internal, "INTERNAL", "unknown"},
		"a disk error in a read": {fmt.Errorf("get: %w", storage.ErrCorrupt), codes.Internal, "INTERNAL", "unknown"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, internal := reason.Status(tc.err, "id-1")
			wantError(t, s.Err(), tc.code, tc.reason)
			if got := infoOf(s.Err()).GetMetadata()["applied"]; got != tc.applied {
				t.Errorf("got applied %q, want %q", got, tc.applied)
			}
			if internal != (tc.code == codes.Internal) {
				t.Errorf("got internal %v for %v", internal, tc.code)
			}
			if strings.Contains(s.Message(), "/var/lib") {
				t.Errorf("the message %q shows the cause", s.Message())
			}
			if internal && !strings.Contains(s.Message(), "id-1") {
				t.Errorf("the message %q does not have the request id", s.Message())
			}
		})
	}
}

// infoOf returns the reason that an error carries; an empty one if it carries none.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

// wantError fails unless err has a code and a reason.
func wantError(t *testing.T, err error, code codes.Code, name string) {
	t.Helper()
	info := infoOf(err)
	if status.Code(err) != code || info.GetReason() != name || info.GetDomain() != "tenure.io" {
		t.Errorf("got %v, reason %q of domain %q; want %v, reason %q", err, info.GetReason(), info.GetDomain(), code, name)
	}
}

func TestEveryReasonHasACode(t *testing.T) {
	for number, name := range tenurev1.ErrorReason_name {
		why := tenurev1.ErrorReason(number)
		if why == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			continue
		}
		s, _ := reason.Status(reason.New(why, "x"), "")
		if (s.Code() == codes.Internal) != (why == tenurev1.ErrorReason_ERROR_REASON_INTERNAL) || s.Code() == codes.Unknown {
			t.Errorf("reason %s has code %v", name, s.Code())
		}
		if want := strings.TrimPrefix(name, "ERROR_REASON_"); infoOf(s.Err()).GetReason() != want {
			t.Errorf("got reason %q, want %q", infoOf(s.Err()).GetReason(), want)
		}
	}
}
