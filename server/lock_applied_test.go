package server_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// TestAWaitThatFailsSaysThatItWasMade ends calls that wait for a lock with an error. The acquire was applied long before: it
// has its place in the queue, or had it.
func TestAWaitThatFailsSaysThatItWasMade(t *testing.T) {
	waits := map[string]func(m *member, session string) error{
		"a call that waits": func(m *member, session string) error {
			stream, err := m.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{
				Key: "k", SessionId: session, Options: &tenurev1.CallOptions{Epoch: 1},
			})
			for err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"a try that waits": func(m *member, session string) error {
			_, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{
				Key: "k", SessionId: session, Wait: seconds(60), Options: &tenurev1.CallOptions{Epoch: 1},
			})
			return err
		},
	}
	ends := map[string]struct {
		end    func(t *testing.T, m *member, session string)
		reason string
	}{
		"another process takes the session over": {func(t *testing.T, m *member, session string) {
			t.Helper()
			m.takeOver(t, session)
		}, "SESSION_SUPERSEDED"},
		"the member stops": {func(_ *testing.T, m *member, _ string) { m.stop() }, "STOPPING"},
	}
	for what, wait := range waits {
		for why, tc := range ends {
			t.Run(what+", and "+why, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				m := start(t, func(c *server.Config) { c.Registry = registry })
				alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
				m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: alice}).ended()
				failed := make(chan error, 1)
				go func() { failed <- wait(m, bob) }()
				m.awaitWaiters(t, "k", 1)
				awaitGauge(t, registry, "tenure_watch_watchers", 1)
				tc.end(t, m, bob)
				info := infoOf(<-failed)
				if info.GetReason() != tc.reason || info.GetMetadata()["applied"] != "yes" {
					t.Errorf("got %v, want %s, applied yes", info, tc.reason)
				}
			})
		}
	}
}
