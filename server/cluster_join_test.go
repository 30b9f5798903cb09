package server_test

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// addMember asks for a join token until the cluster version is raised.
func addMember(t *testing.T, m *member, r *tenurev1.AddMemberRequest) (*tenurev1.AddMemberResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := m.AddMember(ctx, r)
		if infoOf(err).GetReason() != "FEATURE_NOT_ENABLED" {
			return answer, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// An operator gets a token that nobody can read again, and another one when the answer was lost, which ends the first.
func TestAnOperatorGetsAJoinToken(t *testing.T) {
	m := start(t)
	first, err := addMember(t, m, &tenurev1.AddMemberRequest{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if raw, wrong := hex.DecodeString(first.GetJoinToken()); wrong != nil || len(raw) != 32 ||
		first.GetTtl().AsDuration() != time.Hour || first.GetReplacedToken() {
		t.Errorf("got %v, want 32 bytes in hexadecimal for an hour", first)
	}
	second, err := addMember(t, m, &tenurev1.AddMemberRequest{Name: "b", Ttl: durationpb.New(time.Minute)})
	if err != nil || second.GetJoinToken() == first.GetJoinToken() || !second.GetReplacedToken() || second.GetTtl().AsDuration() != time.Minute {
		t.Errorf("asked again: got %v, %v, want another token in place of the first", second, err)
	}
	for _, entry := range m.logs.All() {
		for name, value := range entry.ContextMap() {
			if text, ok := value.(string); ok && (strings.Contains(text, first.GetJoinToken()) || strings.Contains(text, second.GetJoinToken())) {
				t.Errorf("the log has a token in %s of %q", name, entry.Message)
			}
		}
	}
	all, err := m.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	self := all.GetMembers()[0]
	_, err = addMember(t, m, &tenurev1.AddMemberRequest{Name: self.GetName()})
	wantError(t, err, codes.FailedPrecondition, "MEMBERSHIP_REFUSED")
	_, err = m.ReplaceMember(t.Context(), &tenurev1.ReplaceMemberRequest{MemberId: 1, Name: "c"})
	wantError(t, err, codes.NotFound, "MEMBER_NOT_FOUND")
	if len(all.GetMembers()) == 1 {
		_, err = m.ReplaceMember(t.Context(), &tenurev1.ReplaceMemberRequest{MemberId: self.GetId(), Name: "c"})
		wantError(t, err, codes.FailedPrecondition, "MEMBERSHIP_REFUSED")
	}
}

// Nobody names an address for another member: it would be connected to, and logged.
func TestAMemberSaysItsAddressesItself(t *testing.T) {
	m := start(t)
	if _, err := addMember(t, m, &tenurev1.AddMemberRequest{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	for sentence, address := range map[string]string{
		"where nobody listens": "127.0.0.1:1", "where somebody listens": m.at.Peer, "none": "x", "huge": strings.Repeat("h", 1<<20),
	} {
		_, err := m.AddMember(t.Context(), &tenurev1.AddMemberRequest{Name: "b", PeerAddress: address})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if text := err.Error(); !strings.Contains(text, "peer_address: must be empty") || len(text) > 300 {
			t.Errorf("an address %s: got %.300q", sentence, text)
		}
		_, err = m.ReplaceMember(t.Context(), &tenurev1.ReplaceMemberRequest{MemberId: 1, Name: "b", PeerAddress: address})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	}
	for _, entry := range m.logs.All() {
		for name, value := range entry.ContextMap() {
			if text, ok := value.(string); ok && len(text) > 10_000 {
				t.Errorf("the log has %d bytes in %s of %q", len(text), name, entry.Message)
			}
		}
	}
}

func TestRequestsForJoinTokensAreChecked(t *testing.T) {
	m := start(t)
	for sentence, test := range map[string]struct {
		request *tenurev1.AddMemberRequest
		reason  string
	}{
		"without a name":     {&tenurev1.AddMemberRequest{}, "INVALID_ARGUMENT"},
		"a path":             {&tenurev1.AddMemberRequest{Name: "../b"}, "INVALID_ARGUMENT"},
		"a long name":        {&tenurev1.AddMemberRequest{Name: strings.Repeat("b", 64)}, "INVALID_ARGUMENT"},
		"no time":            {&tenurev1.AddMemberRequest{Name: "b", Ttl: durationpb.New(0)}, "TTL_OUT_OF_RANGE"},
		"negative":           {&tenurev1.AddMemberRequest{Name: "b", Ttl: durationpb.New(-time.Hour)}, "TTL_OUT_OF_RANGE"},
		"longer than 30 d":   {&tenurev1.AddMemberRequest{Name: "b", Ttl: durationpb.New(30*24*time.Hour + 1)}, "TTL_OUT_OF_RANGE"},
		"no duration at all": {&tenurev1.AddMemberRequest{Name: "b", Ttl: &durationpb.Duration{Seconds: 1, Nanos: -1}}, "INVALID_ARGUMENT"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := addMember(t, m, test.request)
			wantError(t, err, codes.InvalidArgument, test.reason)
		})
	}
	_, err := m.ReplaceMember(t.Context(), &tenurev1.ReplaceMemberRequest{Name: "b"})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
}

// TestALearnerThatHasStoppedIsNotPromoted promotes a learner that had all a moment ago, and whose connection is lost: it would be the second of two voters.
func TestALearnerThatHasStoppedIsNotPromoted(t *testing.T) {
	t.Parallel()
	slowly := func(c *server.Config) { c.Tick = 2 * clusterTick }
	leader := startCluster(t, 1, slowly).members[0]
	joins, err := addMember(t, leader, &tenurev1.AddMemberRequest{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	learner := startMember(t, slowly, func(c *server.Config) {
		c.Name, c.Join, c.JoinToken, c.StayLearner = "d", []string{leader.at.Peer}, joins.GetJoinToken(), true
	})
	listed := func() *tenurev1.Member {
		t.Helper()
		all, failed := leader.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
		if failed != nil {
			t.Fatal(failed)
		}
		for _, m := range all.GetMembers() {
			if m.GetName() == "d" {
				return m
			}
		}
		return &tenurev1.Member{}
	}
	await(t, "the learner has all", func() bool {
		d := listed()
		return d.GetReachable() && d.Lag != nil && d.GetLag() == 0
	})
	learner.stop()
	await(t, "the connection to the learner is lost", func() bool { return !listed().GetReachable() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = leader.PromoteMember(ctx, &tenurev1.PromoteMemberRequest{MemberId: listed().GetId()})
	wantError(t, err, codes.FailedPrecondition, "MEMBERSHIP_REFUSED")
	if said := status.Convert(err).Message(); !strings.Contains(said, "cannot be reached") {
		t.Errorf("got %q, want that it cannot be reached", said)
	}
	if _, err = leader.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
		t.Errorf("a write after it: %v", err)
	}
}
