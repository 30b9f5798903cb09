package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// revokedCallTime bounds one call of a client: the member that it asks may have no leader, or be killed.
	revokedCallTime = 3 * time.Second
	// revokedEndTime is how long a stream may live on after the revocation was answered, in a soak; a busy machine needs longer.
	revokedEndTime     = time.Second
	revokedEndTimeBusy = 20 * time.Second
)

// TestARevokedTokenDoesNothingWhateverHappensToTheCluster lets clients write, watch and renew with one token through all members, and
// revokes it: while the cluster is well, while one member hears nothing from the others, and after the leader was killed. No change of
// the token has a revision after the revocation's, no call that was sent after its answer is served, and the streams end.
func TestARevokedTokenDoesNothingWhateverHappensToTheCluster(t *testing.T) {
	ctx := t.Context()
	c := rig.StartLinkedCluster(ctx, t, binary, 3, peerTLS(t)...)
	admin := bootstrapped(ctx, t, c)
	other := func() int { // The first member that does not lead.
		if c.Members[0] == c.Leader(ctx) {
			return 1
		}
		return 0
	}
	for _, round := range []struct {
		name string
		// before happens while the clients work, and after when the revocation was answered. Streams through the member that before returns
		// are not expected to end before after; it is negative if there is none.
		before func() int
		after  func(member int)
	}{
		{"all is well", func() int { return -1 }, func(int) {}},
		{"a member hears nothing", func() int {
			deaf := other()
			c.Links[deaf].Block("in")
			return deaf
		}, func(deaf int) { c.Links[deaf].Heal() }},
		{"the leader is killed", func() int {
			leader := c.Leader(ctx)
			leader.Kill()
			return -1
		}, func(int) {}},
	} {
		r := newRevoked(ctx, t, c, admin, round.name)
		r.begin(ctx)
		apart := round.before()
		revision := r.revoke(ctx, apart)
		round.after(apart)
		healed := time.Now()
		r.clients.Wait()
		r.judge(ctx, revision, apart, healed)
	}
}

// revoked is one round: a token, and those who use it.
type revoked struct {
	t     *testing.T
	c     *rig.Cluster
	name  string
	admin context.Context
	owner context.Context // with the token
	token string          // its accessor

	clients  sync.WaitGroup
	begun    sync.WaitGroup
	answered atomic.Bool  // The revocation is.
	at       atomic.Int64 // when it was, in nanoseconds
	written  atomic.Int64 // changes that were acknowledged
	refused  atomic.Int64 // calls that were sent after the answer, and refused
	mu       sync.Mutex   // guards ended
	ended    map[int][]time.Time
}

func newRevoked(ctx context.Context, t *testing.T, c *rig.Cluster, admin, name string) *revoked {
	t.Helper()
	r := &revoked{t: t, c: c, name: name, admin: withToken(ctx, admin), ended: map[int][]time.Time{}}
	until(ctx, t, "a token", func() bool {
		return r.anywhere(func(conn *grpc.ClientConn) error {
			call, cancel := context.WithTimeout(r.admin, revokedCallTime)
			defer cancel()
			made, err := tenurev1.NewAuthServiceClient(conn).CreateToken(call, &tenurev1.CreateTokenRequest{Name: "web", Policies: []string{"web"}})
			if err == nil {
				r.token, r.owner = made.GetToken().GetAccessor(), withToken(ctx, made.GetText())
			}
			return err
		})
	})
	return r
}

// anywhere makes a call through one running member after another until one serves it, and reports whether one did.
func (r *revoked) anywhere(call func(*grpc.ClientConn) error, but ...*rig.Member) bool {
	for _, m := range r.c.Running() {
		if slices.Contains(but, m) {
			continue
		}
		conn := m.Dial()
		err := call(conn)
		_ = conn.Close()
		if err == nil {
			return true
		}
	}
	return false
}

// begin starts the clients, and returns when each has done something.
func (r *revoked) begin(ctx context.Context) {
	conns := make([]*grpc.ClientConn, len(r.c.Members))
	for i, m := range r.c.Members {
		conns[i] = m.Dial()
		r.t.Cleanup(func() { _ = conns[i].Close() })
	}
	for i := range scale(12, 64) {
		r.client(func(begun func()) { r.write(ctx, conns, i, begun) })
	}
	for i := range scale(60, 1000) {
		r.client(func(begun func()) { r.watch(ctx, conns[i%len(conns)], i%len(conns), begun) })
	}
	for i := range scale(3, 12) {
		r.client(func(begun func()) { r.renew(ctx, conns, i, begun) })
	}
	r.begun.Wait()
	until(ctx, r.t, "writes", func() bool { return r.written.Load() >= r.floor() })
}

// floor returns how many changes have to be acknowledged before the token is revoked.
func (r *revoked) floor() int64 { return int64(scale(48, 3200)) }

func (r *revoked) client(run func(begun func())) {
	r.begun.Add(1)
	r.clients.Go(func() {
		once := sync.OnceFunc(r.begun.Done)
		defer once()
		run(once)
	})
}

// over reports whether an error says that the token is not accepted. After the answer nothing else that a call returns may be success.
func (r *revoked) over(late bool, what string, err error) bool {
	if late && err == nil {
		r.t.Errorf("%s: %s was served that was sent after the revocation was answered", r.name, what)
		return true
	}
	if status.Code(err) == codes.Unauthenticated {
		r.refused.Add(1)
		return true
	}
	return false
}

// write writes a key through one member after another.
func (r *revoked) write(ctx context.Context, conns []*grpc.ClientConn, client int, begun func()) {
	for n := client; ctx.Err() == nil; n++ {
		late := r.answered.Load()
		call, cancel := context.WithTimeout(r.owner, revokedCallTime)
		_, err := tenurev1.NewKVServiceClient(conns[n%len(conns)]).Put(call, &tenurev1.PutRequest{
			Key: r.key(client), Content: &tenurev1.PutRequest_Text{Text: strconv.Itoa(n)},
		})
		cancel()
		if r.over(late, "a write", err) {
			return
		}
		if err == nil {
			r.written.Add(1)
			begun()
		}
	}
}

func (r *revoked) key(client int) string {
	return fmt.Sprintf("%s/%d", strings.ReplaceAll(r.name, " ", "-"), client)
}

// watch watches through one member until the stream ends.
func (r *revoked) watch(ctx context.Context, conn *grpc.ClientConn, member int, begun func()) {
	stream, err := tenurev1.NewWatchServiceClient(conn).Watch(r.owner, &tenurev1.WatchRequest{Keys: []string{"k"}})
	for err == nil && ctx.Err() == nil {
		if _, err = stream.Recv(); err == nil {
			begun()
		}
	}
	if code := status.Code(err); code != codes.Unauthenticated && code != codes.Unavailable {
		r.t.Errorf("%s: a watch ended with %v", r.name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[member] = append(r.ended[member], time.Now())
}

// renew opens a session and renews it through one member after another.
func (r *revoked) renew(ctx context.Context, conns []*grpc.ClientConn, client int, begun func()) {
	session := ""
	for n := client; ctx.Err() == nil; n++ {
		late := r.answered.Load()
		service := tenurev1.NewSessionServiceClient(conns[n%len(conns)])
		call, cancel := context.WithTimeout(r.owner, revokedCallTime)
		var err error
		if session == "" {
			var made *tenurev1.CreateSessionResponse
			made, err = service.CreateSession(call, &tenurev1.CreateSessionRequest{Name: r.key(client)})
			session = made.GetSessionId()
		} else {
			_, err = service.RenewSession(call, &tenurev1.RenewSessionRequest{SessionId: session})
		}
		cancel()
		if r.over(late, "a renewal", err) {
			return
		}
		if err == nil && n > client {
			begun()
		}
	}
}

// revoke revokes the token through a member that others hear, and returns the revision of that.
func (r *revoked) revoke(ctx context.Context, apart int) (revision uint64) {
	r.t.Helper()
	var but []*rig.Member
	if apart >= 0 {
		but = append(but, r.c.Members[apart])
	}
	until(ctx, r.t, "the revocation", func() bool {
		return r.anywhere(func(conn *grpc.ClientConn) error {
			call, cancel := context.WithTimeout(r.admin, revokedCallTime)
			defer cancel()
			answer, err := tenurev1.NewAuthServiceClient(conn).RevokeToken(call, &tenurev1.RevokeTokenRequest{Accessor: r.token})
			if err == nil {
				r.at.Store(time.Now().UnixNano())
				r.answered.Store(true)
				revision = answer.GetHeader().GetRevision()
			}
			return err
		}, but...)
	})
	return revision
}

// judge compares what is there with what may be.
func (r *revoked) judge(ctx context.Context, revision uint64, apart int, healed time.Time) {
	r.t.Helper()
	keys := 0
	until(ctx, r.t, "a list", func() bool {
		return r.anywhere(func(conn *grpc.ClientConn) error {
			call, cancel := context.WithTimeout(r.admin, revokedCallTime)
			defer cancel()
			got, err := tenurev1.NewKVServiceClient(conn).List(call, &tenurev1.ListRequest{Prefix: strings.TrimSuffix(r.key(0), "0")})
			for _, kv := range got.GetKvs() {
				keys++
				if kv.GetModRevision() > revision {
					r.t.Errorf("%s: %s was written at revision %d, after the revocation at %d", r.name, kv.GetKey(), kv.GetModRevision(), revision)
				}
			}
			return err
		})
	})
	bounds := []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second}
	counts, latest, streams := make([]int, len(bounds)+1), time.Duration(0), 0
	for member, ends := range r.ended {
		from := time.Unix(0, r.at.Load())
		if member == apart {
			from = healed
		}
		for _, end := range ends {
			took, slot := max(0, end.Sub(from)), 0
			for slot < len(bounds) && took > bounds[slot] {
				slot++
			}
			counts[slot]++
			latest, streams = max(latest, took), streams+1
		}
	}
	r.t.Logf("%s: %d changes were acknowledged, %d calls refused; %d streams ended within %v: %v of %v and later",
		r.name, r.written.Load(), r.refused.Load(), streams, latest.Round(time.Millisecond), counts, bounds)
	limit := revokedEndTimeBusy
	if scale(0, 1) == 1 {
		limit = revokedEndTime
	}
	if latest > limit {
		r.t.Errorf("%s: a stream ended %v after the revocation", r.name, latest)
	}
	if keys < scale(12, 64) || streams < scale(60, 1000) || r.refused.Load() == 0 {
		r.t.Errorf("%s: floors: changes of %d keys, %d streams, %d calls refused", r.name, keys, streams, r.refused.Load())
	}
}

// bootstrapped makes the first token of a cluster, which enforces from then on, with a policy for clients. Whoever has no token may ask
// how members are, as the rig does.
func bootstrapped(ctx context.Context, t *testing.T, c *rig.Cluster) (text string) {
	t.Helper()
	conn := c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	auth := tenurev1.NewAuthServiceClient(conn)
	text = identity.NewToken()
	admin := withToken(ctx, text)
	until(ctx, t, "the version that tokens need", func() bool {
		_, err := auth.BootstrapAuth(ctx, &tenurev1.BootstrapAuthRequest{Token: text, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE})
		return err == nil
	})
	for name, rules := range map[string]string{"web": "session * write\nkey * rw\n", "rig": "operator read\n"} {
		if _, err := auth.PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := auth.PutBinding(admin, &tenurev1.PutBindingRequest{
		Name: "rig", Kind: tenurev1.BindingKind_BINDING_KIND_ANONYMOUS, Policies: []string{"rig"},
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

func withToken(ctx context.Context, text string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+text)
}

// peerTLS returns the flags of members whose certificates say that each is a member.
func peerTLS(t *testing.T) []string {
	t.Helper()
	a, err := rig.NewAuthority("peers")
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := a.Issue([]string{"member.tenure.internal", "*.member.tenure.internal"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": a.PEM(), "peer.crt": certificate, "peer.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"--peer-cert-file", filepath.Join(dir, "peer.crt"), "--peer-key-file", filepath.Join(dir, "peer.key"),
		"--peer-ca-file", filepath.Join(dir, "ca.crt"),
	}
}
