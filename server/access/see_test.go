package access

import (
	"context"
	"fmt"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
)

// watchOfAPart opens a watch of all keys that shows what its caller sees, and returns it with what counts its ends.
func watchOfAPart(t *testing.T, node *cut, a *Authority, caller *identity.Client, ended *int) *Sight {
	t.Helper()
	ctx, s := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(error) { *ended++ })
	if err := s.Message(ctx, &tenurev1.WatchRequest{Prefixes: []string{""}, VisibleOnly: true}); err != nil {
		t.Fatal(err)
	}
	state := node.store.NewReader()
	defer func() { _ = state.Close() }()
	at, err := state.Applied()
	if err != nil {
		t.Fatal(err)
	}
	sight, err := See(ctx, state, at, false)
	if err != nil {
		t.Fatal(err)
	}
	return sight
}

// TestTheRulesOfACallerAreComparedOnce opens 10 000 watches of one caller, and changes the rights of others and its own.
func TestTheRulesOfACallerAreComparedOnce(t *testing.T) {
	const streams = 10_000
	node, a, caller := ruled(t, authEnforce, `key "a/"* ro`)
	ended := 0
	for range streams {
		if watchOfAPart(t, node, a, caller, &ended) == nil {
			t.Fatal("it sees all")
		}
	}
	open, now := a.open(), node.store.Rights.Now()
	l := &glance{authority: a}
	for _, s := range open {
		if differs, err := l.differs(s, now); differs || err != nil {
			t.Fatalf("got %v, %v before anything changed", differs, err)
		}
	}
	_ = l.close()
	for n := range 3 {
		node.policy(t, fmt.Sprint("other", n), `key * ro`)
		l = &glance{authority: a}
		for _, s := range open {
			if differs, err := l.differs(s, node.store.Rights.Now()); differs || err != nil {
				t.Fatalf("got %v, %v after the rights of others changed", differs, err)
			}
		}
		if len(l.same) != 1 {
			t.Errorf("rules were compared %d times, want once", len(l.same))
		}
		_ = l.close()
	}
	reviews := a.Reviews()
	reviews.Next(t.Context())
	if ended != 0 {
		t.Errorf("%d ended, want none", ended)
	}
	node.rules(t, `key "a/"* ro`+"\n"+`key "b" ro`)
	reviews.Next(t.Context())
	if ended != streams {
		t.Errorf("%d ended, want all", ended)
	}
}

// TestWhatAStreamSeesIsFixed takes what a stream sees from a snapshot, and changes rights to and fro before a review looks.
func TestWhatAStreamSeesIsFixed(t *testing.T) {
	node, a, caller := ruled(t, authEnforce, `key "a/"* ro`)
	reviews := a.Reviews()
	ended := 0
	sight := watchOfAPart(t, node, a, caller, &ended)
	sees := func(key string) bool { return authz.SeesKey(sight, key, authz.Read) }
	node.rules(t, `key "b/"* ro`)
	if !sees("a/1") || sees("b/1") {
		t.Error("what a stream sees moved with its caller's rights")
	}
	node.rules(t, `key "a/"* ro`)
	reviews.Next(t.Context())
	if ended != 0 {
		t.Error("it ended, though it shows what it would show now")
	}
	node.rules(t, `key * ro`)
	reviews.Next(t.Context())
	if ended != 1 {
		t.Errorf("it ended %d times, want once", ended)
	}
}

// TestInModeWarnAWatchShowsAll looks at what is counted, and that it ends when rules are enforced, and not before.
func TestInModeWarnAWatchShowsAll(t *testing.T) {
	node, a, caller := ruled(t, authWarn, `key "a/"* ro`)
	reviews := a.Reviews()
	ended := 0
	if sight := watchOfAPart(t, node, a, caller, &ended); sight != nil {
		t.Errorf("got %v, want that it sees all", sight)
	}
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() { node.rules(t, `key "b/"* ro`) }, 0},
		{func() {
			node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: authEnforce}})
		}, 1},
	} {
		step.do()
		reviews.Next(context.Background())
		if ended != step.want {
			t.Errorf("%d ended, want %d", ended, step.want)
		}
	}
}
