package access

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// slow is a member that takes a while to prove what the cluster has.
type slow struct {
	*cut
	asked atomic.Int64
}

func (s *slow) ReadIndex(context.Context) error {
	s.asked.Add(1)
	<-time.After(10 * time.Millisecond)
	return nil
}

// change applies a change of tokens and policies.
func (c *cut) change(t testing.TB, change *storev1.ChangeAuth) {
	t.Helper()
	c.apply(t, &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: change}})
}

// apply applies a command.
func (c *cut) apply(t testing.TB, command *storev1.Command) {
	t.Helper()
	if f := c.result(t, command).GetFailure(); f != nil {
		t.Fatal(f)
	}
}

// result applies a command and returns its result.
func (c *cut) result(t testing.TB, command *storev1.Command) *storev1.Result {
	t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{command}})
	if err != nil {
		t.Fatal(err)
	}
	at := c.store.Applied()
	out, err := c.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Entries[0].Results[0]
}

// TestManyRevocationsOfManyStreams opens 2 000 streams of 20 tokens and revokes one token after the other, 20 a second. The streams of
// each end within a second of its revocation, those of others stay, and the member asks at most ten times a second what the cluster has.
func TestManyRevocationsOfManyStreams(t *testing.T) {
	const tokens, each, every = 20, 100, 50 * time.Millisecond
	node, _, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "watch", Rules: "key * ro"}}})
	accessor := func(n int) []byte { return append(make([]byte, 15), byte(n+1)) }
	hash := func(n int) (h [32]byte) { h[0] = byte(n + 1); return h }
	for n := range tokens {
		h := hash(n)
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
			Accessor: accessor(n), TokenSha256: h[:], Name: strconv.Itoa(n), Policies: []string{"watch"},
		}}})
	}
	synctest.Test(t, func(t *testing.T) {
		member := &slow{cut: node}
		a, err := New(Options{Node: member, Registerer: prometheus.NewRegistry(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		var ended [tokens]atomic.Int64
		var late [tokens]atomic.Int64 // the latest end, in milliseconds of fake time
		for n := range tokens {
			for range each {
				ctx, cancel := context.WithCancelCause(t.Context())
				ctx, s := a.Open(ctx, func() *identity.Client {
					return &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash(n)}}
				},
					tenurev1.WatchService_Watch_FullMethodName, func(err error) {
						ended[n].Add(1)
						late[n].Store(time.Now().UnixMilli())
						cancel(err)
					})
				if err := s.Message(ctx, &tenurev1.WatchRequest{Keys: []string{"a"}}); err != nil {
					t.Fatal(err)
				}
				context.AfterFunc(ctx, s.Close)
			}
		}
		member.asked.Store(0)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.Run(ctx)
		began := time.Now()
		var revoked [tokens]int64
		for n := range tokens / 2 {
			node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: accessor(n)}})
			revoked[n] = time.Now().UnixMilli()
			<-time.After(every)
		}
		<-time.After(time.Second)
		synctest.Wait()
		for n := range tokens {
			want := int64(0)
			if n < tokens/2 {
				want = each
			}
			if got := ended[n].Load(); got != want {
				t.Errorf("of token %d %d streams ended, want %d", n, got, want)
			}
			if took := late[n].Load() - revoked[n]; n < tokens/2 && took > 1000 {
				t.Errorf("the last stream of token %d ended %d ms after its revocation", n, took)
			}
		}
		if asked, most := member.asked.Load(), int64(10*time.Since(began)/time.Second); asked == 0 || asked > most {
			t.Errorf("the member asked %d times what the cluster has, want at most %d", asked, most)
		}
		t.Logf("%d streams ended by %d revocations; the cluster was asked %d times", tokens/2*each, tokens/2, member.asked.Load())
	})
}
