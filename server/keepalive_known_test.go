package server_test

import (
	"encoding/binary"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

func TestAStreamRenewsABoundedNumberOfSessions(t *testing.T) {
	m := start(t, func(c *server.Config) { c.StreamSessionsMax = 2 })
	k := m.keepAlive(t)
	var renewals []*tenurev1.SessionRenewal
	for number := range uint64(4) {
		renewals = append(renewals, &tenurev1.SessionRenewal{Number: number, SessionId: m.openSession(t, "one of many")})
	}
	const renewed, refused = tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED
	for range 2 {
		got := k.renew(renewals...)
		for number, want := range map[uint64]tenurev1.ErrorReason{0: renewed, 1: renewed, 2: refused, 3: refused} {
			wantVerdict(t, got[number], want)
		}
	}
	// Another stream has room, and a session that ended makes some.
	wantVerdict(t, m.keepAlive(t).renew(renewals[2])[2], renewed)
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: renewals[0].GetSessionId()}); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, k.renew(renewals[0])[0], tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
	wantVerdict(t, k.renew(renewals[3])[3], renewed)
}

// TestAStreamForgetsSessionsThatItRenewsNoMore renews very many sessions for a short time each, as a proxy of short-lived
// clients does.
func TestAStreamForgetsSessionsThatItRenewsNoMore(t *testing.T) {
	const (
		sessionsMax = 10_000
		atATime     = 2_000
		ttl         = time.Minute
	)
	now := time.Now()
	known := server.NewKnownSessions(sessionsMax, func() time.Time { return now })
	id := func(n int) (id storage.SessionID) {
		binary.BigEndian.PutUint64(id[:], uint64(n)+1)
		return id
	}
	faithful := id(1 << 40)
	most := 0
	for n := range 20 * sessionsMax {
		if ok, _ := known.Renew(id(n), ttl); !ok {
			t.Fatalf("session %d is refused, with %d known", n, known.Len())
		}
		if ok, again := known.Renew(faithful, ttl); !ok || n > 0 && !again {
			t.Fatalf("after %d sessions the one that is always renewed is forgotten", n)
		}
		most = max(most, known.Len())
		now = now.Add(2 * ttl / atATime)
	}
	if want := 3 * atATime; most > want {
		t.Errorf("%d sessions are known at a time, want at most %d", most, want)
	}
}
