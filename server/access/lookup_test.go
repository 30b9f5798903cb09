package access

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// behind is a member that has not applied yet what the cluster has. It catches up when it is asked to prove that it did.
type behind struct {
	*cut
	t      *testing.T
	missed []*storev1.Command
}

func (b *behind) ReadIndex(ctx context.Context) error {
	if err := b.cut.ReadIndex(ctx); err != nil {
		return err
	}
	for _, c := range b.missed {
		b.apply(b.t, c)
	}
	b.missed = nil
	return nil
}

// idOf returns the id in a test that ends in n.
func idOf(n byte) storage.SessionID { return storage.SessionID{15: n} }

// Ids of what a member has not heard of.
var unheardSession, unheardNode, unheardQuery, drawnNode = idOf(1), idOf(2), idOf(3), idOf(4)

// unheard is what the cluster has and a member that is behind has not: all of it belongs to others than its callers.
func unheard() []*storev1.Command {
	return []*storev1.Command{
		{WallTimeMs: 1, Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: unheardSession[:], Name: "other", Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}},
		{WallTimeMs: 1, Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node: &storev1.Node{Name: "mine", Address: "10.0.0.1"}, DrawnNodeId: drawnNode[:],
			Services: []*storev1.Service{{ServiceId: "i", Name: "other"}},
			Checks:   []*storev1.Check{{CheckId: "c", Name: "c", ServiceId: "i", Status: storev1.CheckStatus_CHECK_STATUS_PASSING}},
		}}},
		{WallTimeMs: 1, Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node: &storev1.Node{Name: "other", Address: "10.0.0.2", NodeId: unheardNode[:]},
		}}},
		{WallTimeMs: 1, Kind: &storev1.Command_PutQuery{PutQuery: &storev1.PutQuery{
			QueryId: unheardQuery[:], Create: true,
			Query: &storev1.Query{Name: "other", Service: "other", Match: storev1.QueryMatch_QUERY_MATCH_NAME},
		}}},
	}
}

// lagging returns a member that is behind, its authority, and a caller with rules.
func lagging(t *testing.T, rules string) (*behind, *Authority, *identity.Client) {
	t.Helper()
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	accessor, hash := Accessor{1}, identity.Hash{1}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "p", Rules: rules}}})
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"p"},
	}}})
	if err := a.prove(t.Context()); err != nil { // Else it would be asked to before anything else.
		t.Fatal(err)
	}
	member := &behind{cut: node, t: t, missed: unheard()}
	a.node = member
	return member, a, &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash}}
}

// TestWhatAMemberHasNotHeardOfIsNotAllowed calls at a member that has not heard yet of what the call names by its id. That it is not there
// allows the call, so the member has to be sure.
func TestWhatAMemberHasNotHeardOfIsNotAllowed(t *testing.T) {
	const rules = "session \"mine\" write break\nnode \"mine\" write\nservice \"mine\" write\nquery \"mine\" write\n"
	session, node, query := unheardSession.String(), unheardNode.String(), unheardQuery.String()
	for _, c := range []struct {
		what, method string
		request      proto.Message
	}{
		{"a session is ended by force", tenurev1.SessionService_DestroySession_FullMethodName, &tenurev1.DestroySessionRequest{SessionId: session, Force: true}},
		{"a session is renewed", tenurev1.SessionService_RenewSession_FullMethodName, &tenurev1.RenewSessionRequest{SessionId: session}},
		{
			"an instance is deregistered", tenurev1.CatalogService_DeregisterService_FullMethodName,
			&tenurev1.DeregisterServiceRequest{Node: "mine", ServiceId: "i"},
		},
		{
			"the check of an instance is updated", tenurev1.CatalogService_UpdateCheck_FullMethodName,
			&tenurev1.UpdateCheckRequest{Node: "mine", CheckId: "c", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL},
		},
		{
			"a node's id is taken", tenurev1.CatalogService_RegisterNode_FullMethodName,
			&tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "mine", NodeId: node, Address: "10.0.0.3"}},
		},
		{"a query is deleted", tenurev1.QueryService_DeleteQuery_FullMethodName, &tenurev1.DeleteQueryRequest{QueryId: query}},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, a, caller := lagging(t, rules)
			if _, err := a.Call(t.Context(), caller, c.method, c.request); !isDenial(err) {
				t.Errorf("got %v, want PERMISSION_DENIED", err)
			}
			member, a, caller := lagging(t, rules)
			member.lost = true
			if _, err := a.Call(t.Context(), caller, c.method, c.request); err == nil || reason.Of(err) != nil {
				t.Errorf("cut off: got %v, want why it cannot be sure", err)
			}
		})
	}
}

// TestAChangeMeetsWhatWasDecidedAbout decides about changes on an empty catalog, and has others register what they name before they are applied.
func TestAChangeMeetsWhatWasDecidedAbout(t *testing.T) {
	node, query := unheardNode, unheardQuery
	for _, c := range []struct {
		what, method string
		request      proto.Message
		change       *storev1.Command
	}{
		{
			"an instance is deregistered", tenurev1.CatalogService_DeregisterService_FullMethodName,
			&tenurev1.DeregisterServiceRequest{Node: "mine", ServiceId: "i"},
			&storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: &storev1.CatalogName{Node: "mine", ServiceId: "i"}}}},
		},
		{
			"a check is deregistered", tenurev1.CatalogService_DeregisterCheck_FullMethodName,
			&tenurev1.DeregisterCheckRequest{Node: "mine", CheckId: "c"},
			&storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: &storev1.CatalogName{Node: "mine", CheckId: "c"}}}},
		},
		{
			"a node's id is taken", tenurev1.CatalogService_RegisterNode_FullMethodName,
			&tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "mine", NodeId: node.String(), Address: "10.0.0.3"}},
			&storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
				Node: &storev1.Node{Name: "mine", NodeId: node[:], Address: "10.0.0.3"},
			}}},
		},
		{
			"a query is deleted", tenurev1.QueryService_DeleteQuery_FullMethodName, &tenurev1.DeleteQueryRequest{QueryId: query.String()},
			&storev1.Command{Kind: &storev1.Command_DeleteQuery{DeleteQuery: &storev1.DeleteQuery{QueryId: query[:]}}},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			member, a, caller := lagging(t, "node \"mine\" write\nservice \"mine\" write\nquery \"mine\" write\n")
			coming := member.missed
			member.missed = nil
			ctx, err := a.Call(t.Context(), caller, c.method, c.request)
			if err != nil {
				t.Fatal("while nothing is there:", err)
			}
			var attempts []storev1.FailureReason
			_, err = Ordered(ctx, member.Store, func(_ string, below uint64) (*storev1.Result, error) {
				for _, other := range coming {
					member.apply(t, other)
				}
				coming = nil
				own := proto.CloneOf(c.change)
				own.WallTimeMs, own.AuthorisedBelow, own.Findings = 2, below, Findings(ctx)
				result := member.result(t, own)
				attempts = append(attempts, result.GetFailure().GetReason())
				return result, nil
			})
			if !isDenial(err) || len(attempts) != 1 || attempts[0] != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD {
				t.Errorf("got %v after %v, want PERMISSION_DENIED after DENY_REVISION_OLD", err, attempts)
			}
		})
	}
}

// TestAReadIsDecidedOnWhatItShows reads a session that the member hears of after it decided about the read.
func TestAReadIsDecidedOnWhatItShows(t *testing.T) {
	member, a, caller := lagging(t, "session \"mine\" read\n")
	get := &tenurev1.GetSessionRequest{SessionId: unheardSession.String()}
	ctx, err := a.Call(t.Context(), caller, tenurev1.SessionService_GetSession_FullMethodName, get)
	if err != nil {
		t.Fatal("a session that is not there:", err)
	}
	if err = member.ReadIndex(ctx); err != nil {
		t.Fatal(err)
	}
	s := member.store.NewReader()
	defer func() { _ = s.Close() }()
	at, err := s.Applied()
	if err != nil {
		t.Fatal(err)
	}
	if err = Of(ctx).At(s, at); !isDenial(err) {
		t.Errorf("got %v, want PERMISSION_DENIED", err)
	}
}

// TestAWatchOfAnUnheardSession opens a watch on a session that the member has not heard of.
func TestAWatchOfAnUnheardSession(t *testing.T) {
	_, a, caller := lagging(t, "session \"mine\" read\n")
	ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
	defer stream.Close()
	if err := stream.Message(ctx, &tenurev1.WatchRequest{SessionIds: []string{unheardSession.String()}}); !isDenial(err) {
		t.Errorf("got %v, want PERMISSION_DENIED", err)
	}
}

// stuck is a member that does not catch up.
type stuck struct{ *cut }

func (stuck) ReadIndex(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestRenewalsDoNotWaitForAMemberThatLags renews a session that a member does not know, which does not catch up: its client is told, and moves.
func TestRenewalsDoNotWaitForAMemberThatLags(t *testing.T) {
	member, a, caller := lagging(t, "session \"mine\" write\n")
	a.node = stuck{member.cut}
	synctest.Test(t, func(t *testing.T) {
		ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.SessionService_KeepAlive_FullMethodName, func(error) {})
		defer stream.Close()
		began := time.Now()
		err := stream.Message(ctx, &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: unheardSession.String()}}})
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_NO_LEADER || time.Since(began) > ProofTimeout {
			t.Errorf("got %v after %v, want NO_LEADER after %v", err, time.Since(began), ProofTimeout)
		}
	})
}

// TestWhatIsKnownNeedsNoProof decides about a session that the member knows: its name cannot have changed.
func TestWhatIsKnownNeedsNoProof(t *testing.T) {
	member, a, caller := lagging(t, "session \"other\" write\n")
	if err := member.ReadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	member.proofs = 0
	if _, err := a.Call(t.Context(), caller, tenurev1.SessionService_RenewSession_FullMethodName,
		&tenurev1.RenewSessionRequest{SessionId: unheardSession.String()}); err != nil || member.proofs != 0 {
		t.Errorf("got %v after %d proofs, want none of either", err, member.proofs)
	}
}

// TestIDsWithoutEnd names very many checks by their ids, which is refused before each is compared with all others.
func TestIDsWithoutEnd(t *testing.T) {
	_, a, caller := lagging(t, "node \"mine\" write\n")
	sync := &tenurev1.SyncNodeRequest{Node: &tenurev1.Node{Name: "mine"}}
	for n := range 200_000 {
		sync.DeleteChecks = append(sync.DeleteChecks, strconv.Itoa(n))
	}
	_, err := a.Call(t.Context(), caller, tenurev1.CatalogService_SyncNode_FullMethodName, sync)
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE {
		t.Errorf("got %v, want TOO_LARGE", err)
	}
}

// TestAWarningPassesWhateverIsThere makes a change in mode warn, which the caller has no right to once the member has caught up.
func TestAWarningPassesWhateverIsThere(t *testing.T) {
	member, a, caller := lagging(t, "node \"mine\" write\n")
	member.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_WARN}})
	ctx, err := a.Call(t.Context(), caller, tenurev1.CatalogService_DeregisterService_FullMethodName,
		&tenurev1.DeregisterServiceRequest{Node: "mine", ServiceId: "i"})
	if err != nil {
		t.Fatal(err)
	}
	if found := Findings(ctx); len(found) != 0 {
		t.Errorf("its change depends on %v, want nothing", found)
	}
}
