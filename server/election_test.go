package server_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// office is an election under test.
type office struct {
	t *testing.T
	tenurev1.ElectionServiceClient
	m *member
}

func (o office) campaign(session, value string) grpc.ServerStreamingClient[tenurev1.CampaignResponse] {
	o.t.Helper()
	stream, err := o.Campaign(o.t.Context(), &tenurev1.CampaignRequest{
		Key: "leader", SessionId: session, Content: &tenurev1.CampaignRequest_Text{Text: value},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return stream
}

// next returns the next step of a candidate.
func (o office) next(stream grpc.ServerStreamingClient[tenurev1.CampaignResponse]) *tenurev1.CampaignResponse {
	o.t.Helper()
	step, err := stream.Recv()
	if err != nil {
		o.t.Fatal(err)
	}
	return step
}

// observed returns the next change that an observer sees, as the leader's name and value.
func (o office) observed(stream grpc.ServerStreamingClient[tenurev1.ObserveResponse]) string {
	o.t.Helper()
	got, err := stream.Recv()
	if err != nil {
		o.t.Fatal(err)
	}
	if got.GetLeader() == nil {
		return "none"
	}
	return got.GetLeader().GetHold().GetSessionName() + " " + string(got.GetLeader().GetValue())
}

func TestElection(t *testing.T) {
	m := start(t)
	o := office{t, tenurev1.NewElectionServiceClient(m.conn), m}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	observer, err := o.Observe(ctx, &tenurev1.ObserveRequest{Key: "leader"})
	if err != nil {
		t.Fatal(err)
	}
	see := func(want string) {
		t.Helper()
		if got := o.observed(observer); got != want {
			t.Errorf("the observer saw %q, want %q", got, want)
		}
	}
	see("none")

	alice, bob, carol := m.openSession(t, "alice"), m.openSession(t, "bob"), m.openSession(t, "carol")
	elected := o.next(o.campaign(alice, "at a")).GetElected()
	if elected == nil {
		t.Fatal("the only candidate was not elected")
	}
	see("alice at a")
	asBob, asCarol := o.campaign(bob, "at b"), o.campaign(carol, "at c")
	if q := o.next(asBob).GetQueued(); q.GetLock().GetHolds()[0].GetSessionName() != "alice" {
		t.Errorf("got %v, want that bob queues behind alice", q)
	}
	if o.next(asCarol).GetQueued() == nil {
		t.Error("carol does not queue")
	}
	got, err := o.GetLeader(t.Context(), &tenurev1.GetLeaderRequest{Key: "leader"})
	if err != nil || got.GetLeader().GetCandidates() != 2 || string(got.GetLeader().GetValue()) != "at a" {
		t.Errorf("got leader %v, %v; want alice at a with 2 candidates", got, err)
	}

	proclaim := &tenurev1.ProclaimRequest{
		Key: "leader", Sequencer: elected.GetSequencer(), Content: &tenurev1.ProclaimRequest_Text{Text: "moved"},
	}
	if _, err = o.Proclaim(t.Context(), proclaim); err != nil {
		t.Fatal(err)
	}
	see("alice moved")
	resigned, err := o.Resign(t.Context(), &tenurev1.ResignRequest{Key: "leader", SessionId: alice, ToSessionId: carol})
	if err != nil || !resigned.GetResigned() {
		t.Fatalf("got %v, %v; want that alice resigned", resigned, err)
	}
	see("carol at c")
	for step := o.next(asCarol); step.GetElected() == nil; step = o.next(asCarol) {
		if step.GetMoved() == nil {
			t.Fatalf("got %v, want that carol is elected past bob", step)
		}
	}
	_, err = o.Proclaim(t.Context(), proclaim)
	wantError(t, err, codes.FailedPrecondition, "FENCING_TOKEN_STALE")
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: carol, Clean: true}); err != nil {
		t.Fatal(err)
	}
	see("bob at b")
	if _, err := o.Resign(t.Context(), &tenurev1.ResignRequest{Key: "leader", SessionId: bob}); err != nil {
		t.Fatal(err)
	}
	see("none")
}

// TestWhoDoesNotLeadDoesNotResign has sessions resign that do not lead, or no longer with the hold that they name. They are
// told so, without an error, and the leader leads on.
func TestWhoDoesNotLeadDoesNotResign(t *testing.T) {
	m := start(t)
	o := office{t, tenurev1.NewElectionServiceClient(m.conn), m}
	alice, bob, carol := m.openSession(t, "alice"), m.openSession(t, "bob"), m.openSession(t, "carol")
	elected := o.next(o.campaign(alice, "at a")).GetElected().GetSequencer()
	o.next(o.campaign(bob, "at b"))
	for what, r := range map[string]*tenurev1.ResignRequest{
		"a candidate":                        {SessionId: bob},
		"a session that does not stand":      {SessionId: carol},
		"a candidate in favour of itself":    {SessionId: bob, ToSessionId: bob},
		"a candidate in favour of nobody":    {SessionId: bob, ToSessionId: carol},
		"the leader under another owner":     {SessionId: alice, Options: &tenurev1.CallOptions{Owner: "other"}},
		"the leader with a hold that is not": {SessionId: alice, LockIndex: elected.GetLockIndex() + 1},
	} {
		t.Run(what, func(t *testing.T) {
			r.Key = "leader"
			resigned, err := o.Resign(t.Context(), r)
			if err != nil || resigned.GetResigned() {
				t.Errorf("got %v, %v; want that it did not resign, and no error", resigned, err)
			}
			got, err := o.GetLeader(t.Context(), &tenurev1.GetLeaderRequest{Key: "leader"})
			if err != nil || got.GetLeader().GetHold().GetSequencer().GetFencingToken() != elected.GetFencingToken() {
				t.Errorf("got leader %v, %v; want that alice leads on", got, err)
			}
		})
	}
}

func TestElectionIsRefused(t *testing.T) {
	m := start(t)
	o := office{t, tenurev1.NewElectionServiceClient(m.conn), m}
	session := m.openSession(t, "alice")
	elected := o.next(o.campaign(session, "v")).GetElected()
	tests := map[string]struct {
		call   func() error
		code   codes.Code
		reason string
	}{
		"a proclamation without proof": {func() error {
			_, err := o.Proclaim(t.Context(), &tenurev1.ProclaimRequest{Key: "leader"})
			return err
		}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a proclamation with the proof of another lock": {func() error {
			_, err := o.Proclaim(t.Context(), &tenurev1.ProclaimRequest{Key: "other", Sequencer: elected.GetSequencer()})
			return err
		}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a resignation to somebody who does not stand": {func() error {
			_, err := o.Resign(t.Context(), &tenurev1.ResignRequest{
				Key: "leader", SessionId: session, ToSessionId: m.openSession(t, "bob"),
			})
			return err
		}, codes.FailedPrecondition, "CANDIDATE_NOT_FOUND"},
		"an observer of no key": {func() error {
			stream, err := o.Observe(t.Context(), &tenurev1.ObserveRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, codes.InvalidArgument, "KEY_EMPTY"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) { wantError(t, test.call(), test.code, test.reason) })
	}
}
