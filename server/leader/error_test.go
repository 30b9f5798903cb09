package leader_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
)

// Errors of another member come through with everything that clients look at.
func TestErrorsComeThroughARelay(t *testing.T) {
	sent := reason.Invalid("value", "is too long").With("limit", "value_bytes_max")
	sent.RetryAfter = 250 * time.Millisecond
	s, _ := reason.Status(sent, "")
	got := leader.FromPeer(t.Context(), s.Err(), true)
	if got.Reason != sent.Reason || got.Message != sent.Message || got.RetryAfter != sent.RetryAfter ||
		got.Metadata["limit"] != "value_bytes_max" || len(got.Violations) != 1 || got.Applied != reason.AppliedNo {
		t.Errorf("got %+v, want %+v", got, sent)
	}
	if e := reason.Of(errors.Join(got)); !e.Far {
		t.Error("it does not say that it comes from another member")
	}
}
