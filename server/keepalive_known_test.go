package server_test

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
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
