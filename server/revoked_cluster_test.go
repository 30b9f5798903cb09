package server_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// TestARevokedTokenDoesNothingThroughAnyMember writes, watches and renews with one token through three members, hands the leadership over,
// and revokes the token. Of what was sent after the revocation was answered nothing takes effect, and all streams end.
func TestARevokedTokenDoesNothingThroughAnyMember(t *testing.T) {
	t.Parallel()
	const writers, watches = 4, 20
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	first := c.members[0]
	admin := identity.NewToken()
	await(t, "the cluster has the version that tokens need", func() bool {
		_, err := first.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: modeEnforce})
		return err == nil
	})
	made := first.token(t, admin, "web", "session * write\nkey * rw\n")
	ctx := as(t.Context(), made.GetText())
	session, err := first.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	var answered atomic.Bool // The revocation is.
	var all sync.WaitGroup
	var begun sync.WaitGroup
	var ended sync.Map // how long after the revocation each stream ended, by its number
	var revoked atomic.Int64
	for i, m := range c.members {
		for w := range writers {
			begun.Add(1)
			all.Go(func() { m.writeUntilRefused(ctx, t, fmt.Sprintf("%d/%d", i, w), begun.Done) })
		}
		for w := range watches {
			begun.Add(1)
			all.Go(func() {
				watchUntilRefused(ctx, t, m, begun.Done)
				ended.Store(i*watches+w, time.Since(time.UnixMilli(revoked.Load())))
			})
		}
		begun.Add(1)
		all.Go(func() { m.renewUntilRefused(ctx, t, session.GetSessionId(), &answered, begun.Done) })
	}
	begun.Wait()
	_, _ = first.TransferLeadership(as(t.Context(), admin), &tenurev1.TransferLeadershipRequest{}) // It may find no other.
	await(t, "the token is revoked", func() bool {
		revoked.Store(time.Now().UnixMilli())
		_, err = c.members[1].auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()})
		return err == nil
	})
	answered.Store(true)
	before := c.versions(t, admin, writers)
	all.Wait()
	if after := c.versions(t, admin, writers); after != before {
		t.Errorf("something was written after the revocation was answered:\n%s\n%s", before, after)
	}
	latest, streams := time.Duration(0), 0
	ended.Range(func(_, took any) bool {
		streams++
		if d, ok := took.(time.Duration); ok {
			latest = max(latest, d)
		}
		return true
	})
	t.Logf("%d watches ended within %v of the revocation", streams, latest)
	if streams != len(c.members)*watches {
		t.Errorf("%d watches ended, want %d", streams, len(c.members)*watches)
	}
}

// versions returns how often each key was written, as the cluster says.
func (c *cluster) versions(t *testing.T, admin string, writers int) (all string) {
	t.Helper()
	for i := range c.members {
		for w := range writers {
			await(t, "a key is read", func() bool {
				got, err := c.members[0].Get(as(t.Context(), admin), &tenurev1.GetRequest{Key: fmt.Sprintf("%d/%d", i, w)})
				if err == nil {
					all += fmt.Sprintf("%d ", got.GetKv().GetVersion())
				}
				return err == nil
			})
		}
	}
	return all
}

// writeUntilRefused writes a key again and again, until the credential is not accepted any more. It says when it has written once.
func (m *member) writeUntilRefused(ctx context.Context, t *testing.T, key string, begun func()) {
	once := sync.OnceFunc(begun)
	defer once()
	for ctx.Err() == nil {
		switch _, err := m.Put(ctx, &tenurev1.PutRequest{Key: key, Content: text("v")}); status.Code(err) {
		case codes.OK:
			once()
		case codes.Unauthenticated:
			return
		case codes.Unavailable, codes.Unknown: // The leadership is handed over.
		default:
			t.Errorf("a write of %s: %v", key, err)
			return
		}
	}
}

// watchUntilRefused watches, again where a stream ends for another reason, until the credential is not accepted any more.
func watchUntilRefused(ctx context.Context, t *testing.T, m *member, begun func()) {
	once := sync.OnceFunc(begun)
	defer once()
	for ctx.Err() == nil {
		watch, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, &tenurev1.WatchRequest{Keys: []string{"k"}})
		for err == nil {
			if _, err = watch.Recv(); err == nil {
				once()
			}
		}
		switch status.Code(err) {
		case codes.Unauthenticated:
			return
		case codes.Unavailable:
		default:
			t.Errorf("a watch: %v", err)
			return
		}
	}
}

// renewUntilRefused renews a session over a stream, until the credential is not accepted any more. No renewal counts that is sent after
// the revocation was answered.
func (m *member) renewUntilRefused(ctx context.Context, t *testing.T, session string, answered *atomic.Bool, begun func()) {
	once := sync.OnceFunc(begun)
	defer once()
	number := uint64(0)
	for ctx.Err() == nil {
		keep, err := m.KeepAlive(ctx)
		for err == nil {
			number++
			late := answered.Load()
			_ = keep.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: session, Number: number}}})
			var got *tenurev1.KeepAliveResponse
			if got, err = keep.Recv(); err != nil || len(got.GetVerdicts()) == 0 {
				continue
			}
			once()
			if v := got.GetVerdicts()[0]; late && v.GetNumber() == number && v.GetRefused() == 0 {
				t.Error("a renewal counts that was sent after the revocation was answered")
				return
			}
		}
		switch status.Code(err) {
		case codes.Unauthenticated:
			return
		case codes.Unavailable:
		default:
			t.Errorf("renewals: %v", err)
			return
		}
	}
}
