package errorinfo_test

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// TestErrors reads errors of members, of the connection and of programs.
func TestErrors(t *testing.T) {
	said, err := status.New(codes.NotFound, "no such key").WithDetails(&errdetails.ErrorInfo{
		Reason: "KEY_NOT_FOUND", Metadata: map[string]string{"applied": "no"},
	})
	if err != nil {
		t.Fatal(err)
	}
	newer, err := status.New(codes.NotFound, "from a newer member").WithDetails(&errdetails.ErrorInfo{Reason: "NOT_INVENTED_YET"})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := status.New(codes.NotFound, "by its whole name").WithDetails(&errdetails.ErrorInfo{Reason: "ERROR_REASON_KEY_NOT_FOUND"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err     error
		reason  tenurev1.ErrorReason
		applied string
	}{
		"a member's":         {said.Err(), tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "no"},
		"a member's, within": {fmt.Errorf("read: %w", said.Err()), tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "no"},
		"by its whole name":  {whole.Err(), tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, ""},
		"a newer member's":   {newer.Err(), tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, ""},
		"the connection's":   {status.Error(codes.Unavailable, "refused"), tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, ""},
		"the program's":      {errors.New("no file"), tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, ""},
		"none":               {nil, tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, ""},
	} {
		if reason, applied := errorinfo.Reason(c.err), errorinfo.Fact(c.err, "applied"); reason != c.reason || applied != c.applied {
			t.Errorf("%s: got %v and %q, want %v and %q", name, reason, applied, c.reason, c.applied)
		}
	}
	if name := errorinfo.Name(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND); name != "KEY_NOT_FOUND" {
		t.Errorf("the name is %q", name)
	}
}
