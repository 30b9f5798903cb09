package server_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAWatchOfAPartAtAnyMember gives a caller rights through one member and watches at the others, where the watch ends, too, when they are others.
func TestAWatchOfAPartAtAnyMember(t *testing.T) {
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
			stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(as(t.Context(), token), &tenurev1.WatchRequest{
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
					break
				}
			}
			for _, key := range []string{"b/canary", "a/1"} {
				if _, err := other.Put(admin, &tenurev1.PutRequest{Key: key, Content: text(key)}); err != nil {
					t.Fatal(err)
				}
			}
			for shown := 0; shown == 0; {
				message, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range message.GetEvents().GetEvents() {
					if e.GetKey() != "a/1" {
						t.Errorf("got %v", e)
					}
					shown++
				}
			}
			if _, err := other.auth().PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: "part", Rules: `key * ro`}); err != nil {
				t.Fatal(err)
			}
			for err = nil; err == nil; {
				_, err = stream.Recv()
			}
			wantError(t, err, codes.Unavailable, "RIGHTS_CHANGED")
		}
	}
}
