package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// alone is a member with an empty store.
type alone struct{ store *storage.Store }

func (alone) ReadIndex(context.Context) error { return nil }
func (a alone) Store() *storage.Store         { return a.store }

// remembering returns a grant of a put, for a caller that is remembered with 16 rules until it ends.
func remembering(tb testing.TB, key string, ends int64) *Grant {
	tb.Helper()
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	a, err := New(Options{
		Node: alone{store}, Registerer: prometheus.NewRegistry(), Now: func() time.Time { return time.UnixMilli(1000) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	var rules strings.Builder
	for i := range 16 {
		fmt.Fprintf(&rules, "key \"service/%02d/\"* rw\n", i)
	}
	policy, err := authz.ParsePolicy(rules.String())
	if err != nil {
		tb.Fatal(err)
	}
	caller := &identity.Client{Caller: identity.Caller{Kind: identity.Token}}
	a.cache.put(stateOf(store.Rights.Now()), caller, &Who{
		Principal: "token:x", ExpireTimeMs: ends, rights: authz.NewRights("token:x", "", policy),
	})
	needs, err := a.needsOf(nil, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: key})
	if err != nil {
		tb.Fatal(err)
	}
	return &Grant{authority: a, caller: caller, method: tenurev1.KVService_Put_FullMethodName, needs: needs}
}

func TestADecisionFromMemoryAllocatesNothing(t *testing.T) {
	g := remembering(t, "service/15/a", 0)
	put := &tenurev1.PutRequest{Key: "service/15/a"}
	decide := func() error {
		needs, err := g.authority.needsOf(g.few[:0], g.method, put)
		g.needs = needs
		_, failed := g.local()
		return errors.Join(err, failed)
	}
	if err := decide(); err != nil {
		t.Fatal(err)
	}
	if g.Principal() != "token:x" || len(g.needs) != 1 {
		t.Errorf("the caller is %q with %d needs, want token:x with one", g.Principal(), len(g.needs))
	}
	n := testing.AllocsPerRun(100, func() {
		if decide() != nil {
			t.Error("it is denied")
		}
	})
	if n != 0 && !raceDetector { // Under the race detector a pool forgets some of what it is given.
		t.Errorf("a decision allocates %v times, want none", n)
	}
}

func TestWhatIsRememberedAllowsNoMoreThanItsRules(t *testing.T) {
	if _, ok := remembering(t, "other", 0).remembered(); ok {
		t.Error("a key without a rule is allowed")
	}
	if _, ok := remembering(t, "service/15/a", 1000).remembered(); ok {
		t.Error("a credential that has ended is accepted")
	}
	if _, ok := remembering(t, "service/15/a", 1001).remembered(); !ok {
		t.Error("a credential that has not ended is not accepted")
	}
}

// BenchmarkDecision decides about puts of a caller with 16 rules: the decision alone, and with what is kept of it for the call.
func BenchmarkDecision(b *testing.B) {
	g := remembering(b, "service/15/a", 0)
	put := &tenurev1.PutRequest{Key: "service/15/a"}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			needs, err := g.authority.needsOf(g.few[:0], g.method, put)
			g.needs = needs
			if _, failed := g.local(); err != nil || failed != nil {
				b.Fatal("denied")
			}
		}
	})
	b.Run("of a call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.authority.Call(b.Context(), g.caller, g.method, put); err != nil {
				b.Fatal(err)
			}
		}
	})
}
