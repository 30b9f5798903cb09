package seed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

const (
	// shortTTL is the shortest TTL a member grants.
	shortTTL = 2 * time.Second
	// longTTL outlives every case.
	longTTL = time.Minute
)

func TestElectionOfTheGuide(t *testing.T) {
	programs := map[string]func(*testing.T, *rig.Member) candidate{
		"with curl":    func(t *testing.T, m *rig.Member) candidate { return byCurl{t, m} },
		"with grpcurl": func(t *testing.T, m *rig.Member) candidate { return byGRPCurl{t, m} },
		"with tenure":  func(t *testing.T, m *rig.Member) candidate { return byCommand{t, m} },
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			m := rig.Start(t.Context(), t, binary)
			for sentence, handOver := range handOvers {
				t.Run(sentence, func(t *testing.T) { handOver.run(t, program(t, m)) })
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

func (h handOver) run(t *testing.T, c candidate) {
	t.Helper()
	first := c.createSession("first candidate", h.ttl, h.lockDelay)
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
	deadline := time.Now().Add(30 * time.Second)
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
