package reply_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestEveryReasonHasItsStatus goes through all reasons: clients of Consul repeat a 500, and take other answers for final. A reason that is not named
// here is a mistake of the caller.
func TestEveryReasonHasItsStatus(t *testing.T) {
	want := map[string]int{
		"NO_LEADER": 500, "NOT_LEADER": 500, "OUTCOME_UNKNOWN": 500, "DEADLINE_EXCEEDED": 500, "STOPPING": 500, "QUOTA_EXCEEDED": 500, "INTERNAL": 500,
		"CANCELLED": 500, "UNSPECIFIED": 500, "AUDIT_UNAVAILABLE": 503, "RIGHTS_CHANGED": 503,
		"UNAUTHENTICATED": 403, "PERMISSION_DENIED": 403, "SESSION_SECRET_WRONG": 403,
		"TOO_MANY_REQUESTS": 429, "LIMIT_EXCEEDED": 429, "REQUEST_WINDOW_FULL": 429, "WATCHER_TOO_SLOW": 429,
		"TOO_LARGE": 413, "TOO_MANY_KEYS": 413,
		"FEATURE_NOT_ENABLED": 501, "METHOD_NOT_FOUND": 501,
	}
	begins := map[string]string{
		"NO_LEADER": "No cluster leader", "NOT_LEADER": "No cluster leader", "UNAUTHENTICATED": "ACL not found",
		"PERMISSION_DENIED": "Permission denied: text", "SESSION_SECRET_WRONG": "Permission denied", "INTERNAL": "", "UNSPECIFIED": "internal error",
	}
	for number := range tenurev1.ErrorReason_name {
		r := tenurev1.ErrorReason(number)
		name := reason.Name(r)
		s, _ := reason.Status(reason.New(r, "text"), "request")
		got := reply.Of(s.Err())
		status, text := 400, "text"
		if named, ok := want[name]; ok {
			status = named
		}
		if named, ok := begins[name]; ok {
			text = named
		}
		if got.Status != status || text != "" && got.Text != text {
			t.Errorf("%s: got %d %q, want %d %q", name, got.Status, got.Text, status, text)
		}
		if got.Status == 500 && !got.Known && name != "UNSPECIFIED" {
			t.Errorf("%s: the 500 is taken for a mistake in Tenure", name)
		}
	}
}

// TestErrorsWithoutAReasonHaveAStatus makes errors that come from elsewhere than a member's services.
func TestErrorsWithoutAReasonHaveAStatus(t *testing.T) {
	for code, want := range map[codes.Code]int{
		codes.InvalidArgument: 400, codes.NotFound: 400, codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.AlreadyExists: 400,
		codes.ResourceExhausted: 429, codes.Unavailable: 500, codes.Canceled: 500, codes.DeadlineExceeded: 500, codes.Internal: 500,
	} {
		if got := reply.Of(status.Error(code, "text")); got.Status != want {
			t.Errorf("%v: got %d, want %d", code, got.Status, want)
		}
	}
	if got := reply.Of(errors.New("a secret of the disk")); got.Status != 500 || got.Text != "internal error" || got.Known {
		t.Errorf("got %+v, want a 500 that tells nothing", got)
	}
	refused := reply.Refusal(413, "it is %d bytes long", 7)
	if got := reply.Of(refused); got != refused || got.Text != "it is 7 bytes long" {
		t.Errorf("got %+v, want the refusal itself", got)
	}
}

// TestOnlyTheBeginningOfATextIsShown cuts what clients sent.
func TestOnlyTheBeginningOfATextIsShown(t *testing.T) {
	long := make([]byte, 300)
	for text, want := range map[string]string{"short": "short", "not \xff UTF-8": "not \uFFFD UTF-8", string(long): string(long[:256]) + "..."} {
		if got := reply.Shown(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
