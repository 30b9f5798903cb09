package server_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAWatchOfAPartAtAnyMember gives a caller rights through one member and watches at the others, where the watch ends, too, when they are others.
func TestAWatchOfAPartAtAnyMember(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	await(t, "the cluster version is in use", func() bool {
		_, err := c.members[0].auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: firstToken, Mode: modeEnforce})
		return err == nil
	})
	for _, m := range c.members { // What a member has started before it knew of rules may have to be made again.
		await(t, "the member knows that rules are enforced", func() bool {
			_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")})
			return status.Code(err) == codes.PermissionDenied
		})
	}
	admin := as(t.Context(), firstToken)
	token := c.members[0].token(t, firstToken, "part", `key "a/"* ro`).GetText()
	for i, m := range c.members {
		other := c.members[(i+1)%3]
		for _, initial := range []bool{true, false} {
			if _, err := other.auth().PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: "part", Rules: `key "a/"* ro`}); err != nil {
				t.Fatal(err)
			}
			await(t, "the member knows the policy", func() bool {
				can, err := m.auth().CheckAccess(as(t.Context(), token), &tenurev1.CheckAccessRequest{Rule: `key "b/"* read`})
				return err == nil && !can.GetAllowed()
			})
			stream := m.openPart(as(t.Context(), token), t, initial)
			for _, key := range []string{"b/canary", "a/1"} {
				if _, err := other.Put(admin, &tenurev1.PutRequest{Key: key, Content: text(key)}); err != nil {
					t.Fatal(err)
				}
			}
			wantOnly(t, stream, "a/1")
			if _, err := other.auth().PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: "part", Rules: `key * ro`}); err != nil {
				t.Fatal(err)
			}
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			wantError(t, err, codes.Unavailable, "RIGHTS_CHANGED")
		}
	}
}

// openPart opens a watch of all keys that shows a part, and reads its initial state if that is wanted.
func (m *member) openPart(ctx context.Context, t *testing.T, initial bool) tenurev1.WatchService_WatchClient {
	t.Helper()
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, &tenurev1.WatchRequest{
		VisibleOnly: true, Initial: initial, ProgressInterval: durationpb.New(200 * time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !message.GetHeader().GetFiltered() {
			t.Errorf("got %v, want it filtered", message)
		}
		if message.GetInitial().GetComplete() || !initial {
			return stream
		}
	}
}

// wantOnly reads a watch until it shows an event, which must be of a key.
func wantOnly(t *testing.T, stream tenurev1.WatchService_WatchClient, key string) {
	t.Helper()
	for {
		message, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		events := message.GetEvents().GetEvents()
		for _, e := range events {
			if e.GetKey() != key {
				t.Errorf("got %v", e)
			}
		}
		if len(events) > 0 {
			return
		}
	}
}
