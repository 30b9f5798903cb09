package tenure_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
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
	opening, opened := context.WithTimeout(t.Context(), 10*patience)
	defer opened()
	s, err := c.OpenSession(opening)
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

// TestCyclesLeaveNothingBehind opens and closes 50 times; the long form, and CI where the race detector does not watch, does so 1 000 times.
func TestCyclesLeaveNothingBehind(t *testing.T) {
	cycles := 50
	if os.Getenv("TENURE_SOAK") == "1" || os.Getenv("TENURE_CI") == "1" && !underRace {
		cycles = 1000
	}
	member := rig.Start(t.Context(), t, binary)
	cycle(t, member.Addresses.GRPC) // What is made once is made.
	before := runtime.NumGoroutine()
	for range cycles {
		cycle(t, member.Addresses.GRPC)
	}
	settle(t, func() string {
		if n := runtime.NumGoroutine(); n > before {
			stacks := make([]byte, 1<<20)
			return fmt.Sprintf("%d goroutines, %d before:\n%s", n, before, stacks[:runtime.Stack(stacks, true)])
		}
		return ""
	})
	settle(t, func() string { return leftAt(t, member) })
	demandFree(t, member.Addresses.GRPC)
}

// settle waits until nothing is left that a look finds.
func settle(t *testing.T, look func() string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		left := look()
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(left)
		}
	}
}

// leftAt returns what a member still has of its clients: sessions, watches, and by its metrics streams, too; or why it does not say so yet.
func leftAt(t *testing.T, member *rig.Member) string {
	t.Helper()
	status, err := member.Status(t.Context())
	if err != nil {
		return err.Error()
	}
	if status.GetSessions() != 0 || status.GetWatches() != 0 {
		return fmt.Sprintf("%d sessions and %d watches are left", status.GetSessions(), status.GetWatches())
	}
	_, text, err := member.Fetch(t.Context(), "/metrics")
	if err != nil {
		return err.Error()
	}
	for _, gauge := range []string{"tenure_server_streams", "tenure_watch_watchers", "tenure_sessions_live"} {
		if !regexp.MustCompile(`(?m)^` + gauge + ` 0$`).Match(text) {
			return "of the member's metrics this is not 0: " + gauge
		}
	}
	return ""
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
