package seed_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// shortTTL is the TTL of sessions that expire. Until they are to, they are renewed every renewInterval: programs may take
	// their time to start.
	shortTTL      = 5 * time.Second
	renewInterval = 500 * time.Millisecond
	// longTTL outlives every case.
	longTTL = 10 * time.Minute
	// patience is how long the second candidate tries.
	patience = 2 * time.Minute
)

var programs = map[string]func(caller) candidate{
	"with curl":    func(c caller) candidate { return byCurl{c} },
	"with grpcurl": func(c caller) candidate { return byGRPCurl{c} },
	"with tenure":  func(c caller) candidate { return byCommand{c} },
}

func TestElectionOfTheGuide(t *testing.T) {
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Start(t.Context(), t, binary)
			for sentence, handOver := range handOvers {
				t.Run(sentence, func(t *testing.T) { handOver.run(caller{t: t, m: m}, program) })
			}
		})
	}
}

// handOver is one way in which the first leader stops to lead.
type handOver struct {
	ttl, lockDelay time.Duration
	end            func(c candidate, session string)
	// atLeast is how long the second candidate has to wait after the end began.
	atLeast time.Duration
}

var handOvers = map[string]handOver{
	"release hands over at once": {
		ttl: longTTL, lockDelay: 30 * time.Second,
		end: func(c candidate, session string) { c.release(session) },
	},
	"a clean destroy hands over at once": {
		ttl: longTTL, lockDelay: 30 * time.Second,
		end: func(c candidate, session string) { c.destroy(session, true) },
	},
	"a destroy hands over after the lock-delay": {
		ttl: longTTL, lockDelay: time.Second,
		end:     func(c candidate, session string) { c.destroy(session, false) },
		atLeast: time.Second,
	},
	"a destroy without lock-delay hands over at once": {
		ttl: longTTL, end: func(c candidate, session string) { c.destroy(session, false) },
	},
	"expiry hands over after the lock-delay": {
		ttl: shortTTL, lockDelay: time.Second,
		end:     func(candidate, string) {},
		atLeast: time.Second,
	},
	"expiry without lock-delay hands over at once": {
		ttl: shortTTL, end: func(candidate, string) {},
	},
}

func (h handOver) run(by caller, program func(caller) candidate) {
	t, c := by.t, program(by)
	t.Helper()
	first := c.createSession("first candidate", h.ttl, h.lockDelay)
	stopRenewing := by.renew(first)
	if ok, printed := c.acquire(first, `{"Node": "first"}`); !ok {
		t.Fatalf("the first candidate was refused: %s", printed)
	}
	second := c.createSession("second candidate", longTTL, 0)
	_, _, seen := c.get()
	ok, printed := c.acquire(second, `{"Node": "second"}`)
	if ok {
		t.Fatal("the second candidate acquired a held lock")
	}
	if !strings.Contains(printed, first) || !strings.Contains(printed, "first candidate") {
		t.Errorf("the refusal does not say who holds: %s", printed)
	}
	value, holder, _ := c.get()
	if value != `{"Node": "first"}` || holder != first {
		t.Errorf("got leader %q (session %s), want the first candidate (session %s)", value, holder, first)
	}

	stopRenewing()
	began := time.Now()
	h.end(c, first)
	h.untilAcquired(t, c, second, seen)
	if waited := time.Since(began); waited < h.atLeast {
		t.Errorf("the second candidate acquired after %v, want at least %v", waited, h.atLeast)
	}
	value, holder, _ = c.get()
	if value != `{"Node": "second"}` || holder != second {
		t.Errorf("got leader %q (session %s), want the second candidate (session %s)", value, holder, second)
	}
	c.destroy(second, true)
}

// untilAcquired does what the guide tells a waiting candidate: watch, and try when something happened. It watches from what
// it saw before it tried, so that nothing can happen in between unseen.
func (h handOver) untilAcquired(t *testing.T, c candidate, session string, seen uint64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		c.watchNext(seen)
		_, _, seen = c.get()
		ok, printed := c.acquire(session, `{"Node": "second"}`)
		if ok {
			return
		}
		if !strings.Contains(printed, "first candidate") && !strings.Contains(strings.ToLower(printed), "delay") {
			t.Errorf("the refusal tells neither holder nor delay: %s", printed)
		}
	}
	t.Fatal("the second candidate did not get the lock")
}

// renew renews a session until stop is called, which returns when no renewal is under way any more.
func (c caller) renew(session string) (stop func()) {
	t := c.t
	t.Helper()
	conn := c.m.Dial()
	ctx, cancel := context.WithCancel(t.Context())
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(renewInterval)
		defer tick.Stop()
		for ctx.Err() == nil {
			_, err := tenurev1.NewSessionServiceClient(conn).RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: session})
			if err != nil && ctx.Err() == nil {
				t.Errorf("renew the first candidate's session: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		renewing.Wait()
		_ = conn.Close()
	})
	t.Cleanup(stop)
	return stop
}
