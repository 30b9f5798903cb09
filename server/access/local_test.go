package access

import (
	"context"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestWhatIsServedBesideAMemberIsDecidedByItsRules has calls of the agent inside a member, which names the services itself.
func TestWhatIsServedBesideAMemberIsDecidedByItsRules(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	decide := func(caller *identity.Client, service string, stale bool) error {
		return a.Local(t.Context(), caller, authz.Local{
			Method:  tenurev1.AgentService_ReportCheck_FullMethodName,
			Needs:   []authz.Need{{Kind: authz.Service, Verb: authz.Write, Node: "h1", By: authz.ByCheck, ID: "up"}},
			Service: func(authz.Need) string { return service },
			Stale:   stale,
		})
	}
	nobody := &identity.Client{}
	wantDenied := func(err error) {
		t.Helper()
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED ||
			e.Metadata["needs"] != `service of check "up" on node "h1" write` {
			t.Errorf("got %v, want that it is denied, with the check and not with its service", err)
		}
	}
	if err := decide(admin(), "web", false); err != nil {
		t.Errorf("who has the right: got %v", err)
	}
	if node.proofs == 0 {
		t.Error("it was not proved that no right was taken away")
	}
	wantDenied(decide(nobody, "web", false))
	wantDenied(decide(nobody, "web", true))
	if err := decide(nobody, "", false); err != nil {
		t.Errorf("a check of no service: got %v", err)
	}
	node.lost = true
	if err := decide(admin(), "web", true); err != nil {
		t.Errorf("a report without a leader: got %v", err)
	}
	if err := decide(admin(), "web", false); err == nil {
		t.Error("a member that cannot know which rights were taken away allows a change")
	}
	node.lost = false

	node, cutOff, sleep := enforcing(t, storev1.AuthMode_AUTH_MODE_WARN)
	a = cutOff
	if err := decide(nobody, "web", false); err != nil {
		t.Errorf("in mode warn: got %v", err)
	}
	node.lost = true
	sleep(StaleMaxDefault + time.Second)
	if err := decide(admin(), "web", false); err == nil {
		t.Error("a member that was cut off in mode warn, and cannot know the mode, allows a change")
	}
}

// TestWhatTheCatalogHasUnderAnIDIsNotTakenOver has calls at the agent inside a member that would make entries of others its own, which the member has not
// heard of yet.
func TestWhatTheCatalogHasUnderAnIDIsNotTakenOver(t *testing.T) {
	for what, n := range map[string]authz.Need{
		`service of instance "i" on node "mine" write`: {Kind: authz.Service, Verb: authz.Write, Node: "mine", By: authz.ByService, ID: "i"},
		`service of check "c" on node "mine" write`:    {Kind: authz.Service, Verb: authz.Write, Node: "mine", By: authz.ByCheck, ID: "c"},
	} {
		for _, c := range []struct {
			service string // of the agent's own
			claims  bool
			denied  bool
		}{{"", true, true}, {"", false, false}, {"mine", true, false}} {
			_, a, caller := lagging(t, "node \"mine\" write\nservice \"mine\" write\n")
			of := authz.Local{
				Method: tenurev1.AgentService_AddAgentService_FullMethodName, Needs: []authz.Need{n},
				Service: func(authz.Need) string { return c.service },
			}
			if c.claims {
				of.Catalog = func(context.Context, authz.Need) (string, error) { return "", nil } // The member looks itself.
			}
			err := a.Local(t.Context(), caller, of)
			if e := reason.Of(err); (e != nil && e.Metadata["needs"] == what) != c.denied || (err != nil) != c.denied {
				t.Errorf("%s, %+v: got %v", what, c, err)
			}
		}
	}
}
