package access

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// tokenOf makes the token of a number with the policy p, and returns its caller.
func (c *cut) tokenOf(t testing.TB, n int, policies ...string) *identity.Client {
	t.Helper()
	accessor, hash := Accessor{1}, identity.Hash{1}
	binary.BigEndian.PutUint64(accessor[8:], uint64(n))
	binary.BigEndian.PutUint64(hash[8:], uint64(n))
	c.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: policies,
	}}})
	return &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash}}
}

// watching opens a watch of a caller of the part that it sees, or of a key that it names.
func watching(t testing.TB, a *Authority, caller *identity.Client, part bool, end func(error)) *Stream {
	t.Helper()
	ctx, s := a.Open(context.Background(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, end)
	t.Cleanup(s.Close)
	m := &tenurev1.WatchRequest{Keys: []string{"a/1"}}
	if part {
		m = &tenurev1.WatchRequest{Prefixes: []string{"a/"}, VisibleOnly: true}
	}
	if err := s.Message(ctx, m); err != nil {
		t.Fatal(err)
	}
	if part {
		saw(ctx, t, a)
	}
	return s
}

// saw has the stream of a context decide what it shows.
func saw(ctx context.Context, t testing.TB, a *Authority) {
	t.Helper()
	r := a.node.Store().NewReader()
	at, err := r.Applied()
	if err == nil {
		_, err = See(ctx, r, at, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Close(); err != nil {
		t.Fatal(err)
	}
}

// manyRules are rules for keys below a prefix.
func manyRules(prefix string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "key %q ro\n", fmt.Sprint(prefix, i))
	}
	return text.String()
}

// TestAReviewCostsAsMuchWithManyRulesAsWithFew reviews streams of many callers after a token of somebody else was made, and after a policy of nobody was
// replaced. None of their rules is read again.
func TestAReviewCostsAsMuchWithManyRulesAsWithFew(t *testing.T) {
	const callers, eachMax = 100, 100
	for _, rules := range []int{3, 200} {
		for _, part := range []bool{true, false} {
			node, a, _ := enforcing(t, authEnforce)
			node.rules(t, manyRules("a/", rules))
			node.policy(t, "unrelated", `key "b" ro`)
			for n := range callers {
				watching(t, a, node.tokenOf(t, n, "p"), part, func(err error) { t.Error(err) })
			}
			reviews := a.Reviews()
			reviews.Next(t.Context())
			for what, change := range map[string]func(){
				"another's token":    func() { node.tokenOf(t, callers, "p") },
				"a policy of nobody": func() { node.policy(t, "unrelated", `key "c" ro`) },
			} {
				change()
				drawn := a.policies.drawn
				var begin, end runtime.MemStats
				runtime.ReadMemStats(&begin)
				reviews.Next(t.Context())
				runtime.ReadMemStats(&end)
				if a.policies.drawn != drawn {
					t.Errorf("%s: %d policies were parsed that are as they were", what, a.policies.drawn-drawn)
				}
				if each := int(end.Mallocs-begin.Mallocs) / callers; each > eachMax {
					t.Errorf("%s, %d rules, a part %v: a review allocates %d times for each stream, want at most %d", what, rules, part, each, eachMax)
				}
			}
		}
	}
}

// TestAReviewLeavesTheRestToTheNext has looks at streams take long, with a change before each review: each stream gets its turn, and the one that shows
// something else now ends.
func TestAReviewLeavesTheRestToTheNext(t *testing.T) {
	const callers, looks = 12, 3
	node, a, _ := enforcing(t, authEnforce)
	node.rules(t, `key "a/1" ro`)
	node.policy(t, "other", `key "a/1" ro`)
	var streams []*Stream
	ended := make([]error, callers)
	for n := range callers {
		policy := "p"
		if n == callers/2 {
			policy = "other"
		}
		streams = append(streams, watching(t, a, node.tokenOf(t, n, policy), true, func(err error) { ended[n] = err }))
	}
	now := time.Unix(2000, 0)
	a.fresh.now = func() time.Time { now = now.Add(othersFor/looks + 1); return now }
	node.policy(t, "other", `key "a/2" ro`)
	reviews := a.Reviews()
	for n := range callers / looks {
		node.tokenOf(t, 100+n, "p")
		reviews.Next(t.Context())
		looked := 0
		for _, s := range streams {
			if s.turn > 1 { // At 1 it waits for its turn.
				looked++
			}
		}
		if looked != looks*(n+1) {
			t.Errorf("after %d reviews %d streams were looked at, want %d more with each", n+1, looked, looks)
		}
	}
	waited := make([]int, callers)
	for n := range 3 * callers / looks {
		before := make([]*fixed, callers)
		for i, s := range streams {
			before[i] = s.fixed.Load()
		}
		node.tokenOf(t, 200+n, "p")
		reviews.Next(t.Context())
		for i, s := range streams {
			waited[i]++
			if ended[i] != nil || s.fixed.Load() != before[i] { // It was looked at.
				waited[i] = 0
			}
			if waited[i] >= callers/looks {
				t.Errorf("review %d: the stream of caller %d was not looked at in %d reviews, want once in %d", n, i, waited[i], callers/looks)
			}
		}
	}
	for n, err := range ended {
		want := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
		if n == callers/2 {
			want = tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED
		}
		wantReason(t, fmt.Sprint("caller ", n), err, want)
	}
}

// TestARevocationDoesNotWaitForTheRest revokes a token while there are more streams than a review looks at for other reasons.
func TestARevocationDoesNotWaitForTheRest(t *testing.T) {
	const callers = 12
	node, a, _ := enforcing(t, authEnforce)
	node.rules(t, `key "a/1" ro`)
	ended := make([]error, callers)
	for n := range callers {
		watching(t, a, node.tokenOf(t, n, "p"), true, func(err error) { ended[n] = err })
	}
	now := time.Unix(2000, 0)
	a.fresh.now = func() time.Time { now = now.Add(othersFor); return now }
	reviews := a.Reviews()
	var revoked []byte
	for n := range callers / 2 {
		accessor := Accessor{1}
		binary.BigEndian.PutUint64(accessor[8:], uint64(n))
		revoked = accessor[:]
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: revoked}})
	}
	reviews.Next(t.Context())
	for n, err := range ended {
		want := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
		if n < callers/2 {
			want = tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED
		}
		wantReason(t, fmt.Sprint("caller ", n), err, want)
	}
}

// TestAStreamThatBeganAfterALookIsNotOther has a stream begin between the moment that a look sees and the look at the stream.
func TestAStreamThatBeganAfterALookIsNotOther(t *testing.T) {
	node, a, caller := ruled(t, authEnforce, `key "a/1" ro`)
	l := &glance{authority: a}
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.close() }()
	before := node.store.Rights.Now()
	node.rules(t, `key "a/2" ro`)
	s := watching(t, a, caller, true, func(error) {})
	if differs, err := l.differs(s, before); differs || err != nil {
		t.Errorf("got %v, %v; want that it shows what it did when it began", differs, err)
	}
}

// TestWhatIsRememberedOfPoliciesIsWhatTheyAllow gives callers policies by tokens of several machines and by bindings, changes them in many ways, and compares
// their rights with those that an authority finds out that remembers nothing. What is remembered has an end.
func TestWhatIsRememberedOfPoliciesIsWhatTheyAllow(t *testing.T) {
	node, a, _ := enforcing(t, authEnforce)
	for _, name := range []string{"p", "q", "missing"} {
		node.policy(t, name, "")
	}
	callers := []*identity.Client{{Caller: identity.Caller{Kind: identity.Certificate, Principal: "cert:x"}}, admin()}
	for n, of := range [][]string{{"p"}, {"p", "q"}, {"q", "p"}, {"q"}, {"missing"}, {"p", "missing"}, {storage.AdminPolicy, "p"}} {
		callers = append(callers, node.tokenOf(t, n, of...))
	}
	for n, machine := range []string{"h1", "h2", "h1"} {
		accessor, hash := Accessor{2, byte(n)}, identity.Hash{2, byte(n)}
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
			Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"p", "q"}, Node: machine,
		}}})
		callers = append(callers, &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash}})
	}
	same := func(step string) {
		t.Helper()
		s := node.store.NewReader()
		defer func() { _ = s.Close() }()
		at, err := s.Applied()
		if err != nil {
			t.Fatal(err)
		}
		for n, caller := range callers {
			got, err := a.who(s, at, &identity.Client{Caller: caller.Caller})
			if err != nil {
				t.Fatal(err)
			}
			want, err := (&Authority{node: node}).look(s, stateOf(at.Rights()), caller)
			if err != nil {
				t.Fatal(err)
			}
			if !got.rights.Same(want.rights) || !slices.Equal(got.Policies, want.Policies) {
				t.Errorf("%s: caller %d has %+v, want %+v", step, n, got.rights, want.rights)
			}
		}
	}
	same("no rule yet")
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: "missing"}})
	node.rules(t, "session node self write\nkey \"a\" ro")
	same("one policy")
	node.policy(t, "q", `session node self write`)
	same("two policies")
	node.bind(t, "p")
	same("one binding")
	node.bind(t, "q")
	same("two bindings")
	node.rules(t, `key "b" ro`)
	same("other rules")
	node.policy(t, "q", `key "b" ro`)
	same("two policies of one text")
	node.rules(t, "session node self write\nkey \"a\" ro")
	same("the rules of before")
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: "q"}})
	same("without one")
	node.policy(t, "q", `key * rw`)
	same("with another of its name")
	texts := strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 60)
	for n := range 2 * textsBytesMax / len(texts) {
		a.policies.put(asOf{}, fmt.Sprint("long", n), texts, func() (p authz.Policy, err error) { return p, nil })
	}
	if a.policies.bytes > textsBytesMax || len(a.policies.parsed) > textsBytesMax/len(texts)+1 {
		t.Errorf("%d bytes of %d policies are remembered", a.policies.bytes, len(a.policies.parsed))
	}
	for n := range 4 {
		a.policies.keep(fmt.Sprint(n), nil, unionsRulesMax/2)
	}
	if a.policies.rules > unionsRulesMax || len(a.policies.unions) > 2 {
		t.Errorf("%d rules of %d unions are remembered", a.policies.rules, len(a.policies.unions))
	}
	a.policies.unions, a.policies.rules = nil, 0
	same("once all are forgotten")
}

// BenchmarkReview reviews streams of 10 000 callers with 100 rules after a change that is about none of them.
func BenchmarkReview(b *testing.B) {
	const callers = 10_000
	for _, part := range []bool{true, false} {
		b.Run(fmt.Sprintf("part=%v", part), func(b *testing.B) {
			node, a, _ := enforcing(b, authEnforce)
			node.policy(b, "p", manyRules("a/", 100))
			node.policy(b, "unrelated", `key "b" ro`)
			for n := range callers {
				watching(b, a, node.tokenOf(b, n, "p"), part, func(err error) { b.Error(err) })
			}
			reviews := a.Reviews()
			for b.Loop() {
				b.StopTimer()
				node.policy(b, "unrelated", `key "c" ro`)
				b.StartTimer()
				reviews.Next(b.Context())
			}
		})
	}
}
