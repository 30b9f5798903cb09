package tenure_test

import (
	"context"
	"errors"
	"net"
	"slices"
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
