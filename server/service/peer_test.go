package service

import (
	"testing"

	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
)

// led is a member that another one leads.
type led struct{ leader.Node }

func (led) Status() raftnode.Status { return raftnode.Status{MemberID: 1, Leader: 2, Term: 5} }

// What a member does for another it never relays: it answers from what it knows of itself.
func TestWhatIsRelayedIsNotRelayedAgain(t *testing.T) {
	service := NewPeer(zap.NewNop())
	// It has no relay, and could do nothing with it: another member leads.
	service.Open(New(Options{Caller: &call.Caller{Node: led{}, Log: zap.NewNop(), Stopping: t.Context()}}))
	_, err := service.Propose(t.Context(), &peerv1.ProposeRequest{
		Command: &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}},
	})
	got := leader.FromPeer(t.Context(), err, true)
	if got.Reason != tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER || got.Applied != reason.AppliedNo {
		t.Errorf("got %v, applied %q; want NOT_LEADER, and nothing applied", got, got.Applied)
	}
	_, err = service.ChangeMembers(t.Context(), &peerv1.ChangeMembersRequest{})
	if got := leader.FromPeer(t.Context(), err, true); got.Reason != tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER {
		t.Errorf("got %v, want NOT_LEADER", got)
	}
}

// Commands of leaders' tasks come from the leader only.
func TestLeadersOwnCommandsAreNotTaken(t *testing.T) {
	for name, c := range map[string]*storev1.Command{
		"none":         {},
		"set liveness": {Kind: &storev1.Command_SetLiveness{}},
		"end marked":   {Kind: &storev1.Command_EndMarked{}},
		"register by the pool": {Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Origin: storev1.CatalogOrigin_CATALOG_ORIGIN_POOL,
		}}},
		"deregister in a term": {Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{Term: 2}}},
		"expire sessions":      {Kind: &storev1.Command_ExpireSessions{}},
		"end delays":           {Kind: &storev1.Command_EndDelays{}},
		"end waits":            {Kind: &storev1.Command_EndWaits{}},
		"put member":           {Kind: &storev1.Command_PutMember{}},
	} {
		if mayRelay(c) {
			t.Errorf("%s: may be relayed, want that it may not", name)
		}
	}
}
