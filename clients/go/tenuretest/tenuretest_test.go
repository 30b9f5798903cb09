package tenuretest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/clients/go/tenuretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAMemberServesAndKeepsItsStateOverARestart(t *testing.T) {
	member := tenuretest.Start(t)
	c := member.Client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	s, err := c.OpenSession(ctx, tenure.WithTTL(time.Minute)) // It outlives the restart.
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.Lock("a").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.KV().Put(t.Context(), "k", []byte("v"), tenure.WithHeld(held)); err != nil {
		t.Fatal(err)
	}
	member.Restart()
	kv, err := c.KV().Get(t.Context(), "k")
	if err != nil || string(kv.Value) != "v" || !held.Safe() {
		t.Errorf("after the restart: %+v, %v, held %v", kv, err, held.Err())
	}
	member.Pause()
	member.Resume()
	other := member.Client(t)
	if _, err := other.KV().Get(t.Context(), "none"); !errors.Is(err, tenure.ErrKeyNotFound) {
		t.Errorf("got %v", err)
	}
}
