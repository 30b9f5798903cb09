package tenure_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// cycle opens and closes what a client has to offer.
func cycle(t *testing.T, address string) (sessionID string) {
	t.Helper()
	c, err := tenure.Open("tenure://" + address + "/leaks")
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.Lock("lock").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	work, cancel := held.Context(t.Context())
	defer cancel()
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		_, _ = s.Lock("lock").Acquire(work) // It ends with the session.
	}()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for event, err := range c.Watch(ctx, tenure.OnPrefix(""), tenure.WithInitial()) {
		if err != nil || event.Type != tenure.EventInitial {
			t.Fatal(event, err)
		}
		break
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-waiting
	if held.Safe() {
		t.Fatal("safe after close")
	}
	return s.ID()
}

func TestAThousandCyclesLeaveNothingBehind(t *testing.T) {
	cycles := 100
	if os.Getenv("TENURE_SOAK") == "1" || os.Getenv("TENURE_CONFORMANCE") == "all" {
		cycles = 1000
	}
	member := rig.Start(t.Context(), t, binary)
	cycle(t, member.Addresses.GRPC) // What is made once is made.
	before := runtime.NumGoroutine()
	for range cycles {
		cycle(t, member.Addresses.GRPC)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; <-tick.C {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	status, err := member.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.GetSessions() != 0 || status.GetWatches() != 0 {
		t.Errorf("%d sessions and %d watches are left", status.GetSessions(), status.GetWatches())
	}
	demandFree(t, member.Addresses.GRPC)
}

// demandFree demands that nobody holds or waits for the lock of the cycles.
func demandFree(t *testing.T, address string) {
	t.Helper()
	c, err := tenure.Open("tenure://" + address + "/leaks")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	info, err := c.GetLock(t.Context(), "lock")
	if err != nil || info.Holders+info.Waiters+info.Delayed != 0 {
		t.Errorf("the lock is left as %+v, %v", info, err)
	}
}
