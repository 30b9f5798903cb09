package renewal

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
)

// TestNonsenseIsReadAsQuicklyAsIDs reads a message full of ids that are none: no text is made about each.
func TestNonsenseIsReadAsQuicklyAsIDs(t *testing.T) {
	request := &tenurev1.KeepAliveRequest{}
	for range 1024 {
		request.Renewals = append(request.Renewals, &tenurev1.SessionRenewal{SessionId: "no session"})
	}
	const few = 10
	if n := testing.AllocsPerRun(10, func() { askedRenewals(request, &access.Grant{}, 0) }); n > few {
		t.Errorf("%v allocations for 1 024 renewals, want at most %d", n, few)
	}
}
