package core

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// TestAStreamForgetsSessionsThatItRenewsNoMore renews very many sessions for a short time each, as a proxy of short-lived
// clients does.
func TestAStreamForgetsSessionsThatItRenewsNoMore(t *testing.T) {
	const (
		sessionsMax = 10_000
		atATime     = 2_000
		ttl         = time.Minute
	)
	now := time.Now()
	known := newKnownSessions(sessionsMax)
	// renew renews a session as a stream does, and reports whether the stream had room for it, and knew it already.
	renew := func(id storage.SessionID) (ok, again bool) {
		if _, again = known.renewal(id, now); again {
			return true, true
		}
		if ok, _ = known.room(0, now); ok {
			known.add(&expiry.Renewal{ID: id, TTL: ttl}, now)
		}
		return ok, false
	}
	id := func(n int) (id storage.SessionID) {
		binary.BigEndian.PutUint64(id[:], uint64(n)+1)
		return id
	}
	faithful := id(1 << 40)
	most := 0
	for n := range 20 * sessionsMax {
		if ok, _ := renew(id(n)); !ok {
			t.Fatalf("session %d is refused, with %d known", n, len(known.byID))
		}
		if ok, again := renew(faithful); !ok || n > 0 && !again {
			t.Fatalf("after %d sessions the one that is always renewed is forgotten", n)
		}
		most = max(most, len(known.byID))
		now = now.Add(2 * ttl / atATime)
	}
	if want := 3 * atATime; most > want {
		t.Errorf("%d sessions are known at a time, want at most %d", most, want)
	}
}
