package tenure_test

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

func TestOptionsAgainstARealMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	member := rig.Start(ctx, t, binary)
	tests := map[string]func(t *testing.T, c *tenure.Client){
		"a guard demands that a session lives":             guardSession,
		"a release may write or delete the key":            releaseWith,
		"a watch of locks by prefix tells their grants":    watchLocks,
		"a watch tells of locks by key, and of sessions":   watchLocksAndSessions,
		"a transaction compares versions and values":       transactions,
		"a sequential key has a number behind":             sequential,
		"a watch tells the value before, if it is asked":   watchPrevious,
		"connections are made by the dialer that is given": dialer,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t, member.Addresses.GRPC)) })
	}
}

func guardSession(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	lives := tenure.WithGuard(tenure.IfSessionLives(s.ID()))
	if _, err := c.KV().Put(t.Context(), "guarded by a session", []byte("1"), lives); err != nil {
		t.Errorf("while it lives: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.KV().Put(t.Context(), "guarded by a session", []byte("2"), lives)
	if !errors.Is(err, tenure.ErrSessionExpired) {
		t.Errorf("after its end: got %v, want ErrSessionExpired", err)
	}
	if kv, err := c.KV().Get(t.Context(), "guarded by a session"); err != nil || string(kv.Value) != "1" {
		t.Errorf("left %+v, %v", kv, err)
	}
}

func releaseWith(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	release := func(option tenure.ReleaseOption) (*tenure.KeyValue, error) {
		t.Helper()
		held, err := s.Lock("released", tenure.WithValue([]byte("held"))).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Release(t.Context(), option); err != nil {
			t.Fatal(err)
		}
		return c.KV().Get(t.Context(), "released")
	}
	if kv, err := release(tenure.ReleasePut([]byte("free"))); err != nil || string(kv.Value) != "free" || kv.SessionID != "" {
		t.Errorf("after a put: %+v, %v", kv, err)
	}
	if kv, err := release(tenure.ReleaseDelete()); !errors.Is(err, tenure.ErrKeyNotFound) {
		t.Errorf("after a deletion: %+v, %v", kv, err)
	}
}

func watchLocks(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	started := make(chan struct{})
	type told struct {
		kind tenure.EventType
		key  string
	}
	got := make(chan []told, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		var events []told
		for event, err := range c.Watch(ctx, tenure.OnLockPrefix("watched/"), tenure.OnStart(func(uint64) { close(started) })) {
			if err != nil {
				t.Error(err)
				break
			}
			events = append(events, told{event.Type, event.Key})
			if event.Type == tenure.EventLockReleased {
				break
			}
		}
		got <- events
	}()
	<-started
	for _, key := range []string{"other", "watched/a"} {
		held, err := s.Lock(key).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := []told{{tenure.EventLockGranted, "watched/a"}, {tenure.EventLockReleased, "watched/a"}}
	if events := <-got; !slices.Equal(events, want) {
		t.Errorf("told %v, want %v", events, want)
	}
}

func watchLocksAndSessions(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	if _, err := c.KV().Put(t.Context(), "both", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch := func(change func(), options ...tenure.WatchOption) (events []tenure.EventType) {
		t.Helper()
		var changing sync.WaitGroup
		defer changing.Wait()
		options = append(options, tenure.OnLocks("both"), tenure.OnSessions(s.ID()),
			tenure.OnStart(func(uint64) { changing.Go(change) }))
		for event, err := range c.Watch(ctx, options...) {
			if err != nil {
				t.Error(err)
				break
			}
			events = append(events, event.Type)
			if event.SessionID != s.ID() {
				t.Errorf("%v of session %q", event.Type, event.SessionID)
			}
			if event.Type == tenure.EventSessionEnded || event.Type == tenure.EventLockReleased {
				break
			}
		}
		return events
	}
	hold := func() {
		held, err := s.Lock("both").Acquire(ctx)
		if err != nil || held.Mode() != tenure.Exclusive || held.Session() != s {
			t.Errorf("held %v, %v", held, err)
			return
		}
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
	// The changes of the key that tell of its lock alone would come, too.
	want := []tenure.EventType{tenure.EventLockGranted, tenure.EventLockReleased}
	if got := watch(hold, tenure.OnKeys("both"), tenure.WithoutHolderChanges()); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	end := func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	want = []tenure.EventType{tenure.EventSessionEnded}
	if got := watch(end); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func transactions(t *testing.T, c *tenure.Client) {
	kv := c.KV()
	for range 2 {
		if _, err := kv.Put(t.Context(), "compared", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		compare tenure.Compare
		want    bool
	}{
		"its version":      {tenure.VersionIs("compared", 2), true},
		"another version":  {tenure.VersionIs("compared", 1), false},
		"its value":        {tenure.ValueIs("compared", []byte("x")), true},
		"another value":    {tenure.ValueIs("compared", []byte("y")), false},
		"no key's version": {tenure.VersionIs("missing", 0), true},
	}
	for name, test := range tests {
		result, err := kv.Txn(t.Context(), tenure.Txn{
			If: []tenure.Compare{test.compare}, Then: []tenure.Op{tenure.OpDelete("missing")}, Else: []tenure.Op{tenure.OpGet("compared")},
		})
		if err != nil || result.Succeeded != test.want || len(result.Results) != 1 || result.Results[0].Deleted {
			t.Errorf("%s: %+v, %v, want %v", name, result, err, test.want)
		}
	}
	result, err := kv.Txn(t.Context(), tenure.Txn{Then: []tenure.Op{tenure.OpDelete("compared")}})
	if err != nil || !result.Results[0].Deleted {
		t.Errorf("deletion: %+v, %v", result, err)
	}
}

func sequential(t *testing.T, c *tenure.Client) {
	kv, err := c.KV().Put(t.Context(), "queue/", []byte("x"), tenure.Sequential())
	if err != nil || !regexp.MustCompile(`^queue/\d{20}\d{3}$`).MatchString(kv.Key) {
		t.Errorf("got %+v, %v", kv, err)
	}
}

func watchPrevious(t *testing.T, c *tenure.Client) {
	first, err := c.KV().Put(t.Context(), "changed", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.KV().Put(t.Context(), "changed", []byte("2")); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]tenure.WatchOption{"": nil, "1": {tenure.WithPrevious()}}
	for want, options := range tests {
		options = append(options, tenure.OnKeys("changed"), tenure.AfterRevision(first.ModRevision, ""))
		for event, err := range c.Watch(t.Context(), options...) {
			if err != nil {
				t.Fatal(err)
			}
			previous := ""
			if event.Previous != nil {
				previous = string(event.Previous.Value)
			}
			if string(event.KV.Value) != "2" || previous != want {
				t.Errorf("told %q after %q, want %q", event.KV.Value, previous, want)
			}
			break
		}
	}
}

func dialer(t *testing.T, c *tenure.Client) {
	var dialed atomic.Int64
	member := c2address(t, c)
	other, err := tenure.Open("tenure://member.invalid:7400/app", tenure.WithFixedMembers(),
		tenure.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
			if address != "member.invalid:7400" {
				t.Errorf("asked to dial %q", address)
			}
			dialed.Add(1)
			return (&net.Dialer{}).DialContext(ctx, "tcp", member)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }() // It has nothing to tell the cluster.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := other.KV().Put(ctx, "dialed", nil); err != nil || dialed.Load() == 0 {
		t.Errorf("dialed %d times, %v", dialed.Load(), err)
	}
}
