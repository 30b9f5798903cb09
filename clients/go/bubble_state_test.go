package tenure_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestWhoListensToASessionThatIsOverIsToldSo(t *testing.T) {
	tests := map[string]struct {
		end  func(t *testing.T, b *bubble)
		want tenure.Cause
	}{
		"closed": {func(_ *testing.T, b *bubble) { _ = b.session.Close() }, tenure.CauseClosed},
		"exported": {func(t *testing.T, b *bubble) {
			if _, err := b.session.Export(t.Context()); err != nil {
				t.Error(err)
			}
		}, tenure.CauseExported},
		"ended by the cluster": {func(_ *testing.T, b *bubble) {
			b.mu.Lock()
			delete(b.sessions, b.session.ID())
			b.mu.Unlock()
			<-b.session.Done()
			pass(3 * ttl)
		}, tenure.CauseExpired},
		"ended by the cluster just now": {func(_ *testing.T, b *bubble) {
			b.mu.Lock()
			delete(b.sessions, b.session.ID())
			b.mu.Unlock()
			<-b.session.Done()
		}, tenure.CauseExpired},
		"with its client": {func(_ *testing.T, b *bubble) { _ = b.client.Close() }, tenure.CauseClosed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				test.end(t, b)
				var told []tenure.StateChange
				stop := b.session.OnState(func(c tenure.StateChange) { told = append(told, c) })
				defer stop()
				if len(told) != 1 || told[0] != (tenure.StateChange{State: tenure.StateClosed, Cause: test.want}) {
					t.Errorf("told %v, want that it is closed: %s", told, test.want)
				}
			})
		})
	}
}

func TestAListenerThatWasStoppedIsToldNothingNew(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		var calls atomic.Int64
		stop := b.session.OnState(func(tenure.StateChange) { calls.Add(1) })
		synctest.Wait()
		stop()
		stop()
		b.each(func(m *fakeMember) { m.Refuse(true) })
		pass(time.Minute)
		if n := calls.Load(); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
	})
}

func TestASessionWhoseConnectionBreaksBeforeItsFirstRenewalIsSuspended(t *testing.T) {
	tests := map[string]func(b *bubble, away func()){
		"as soon as it is open":              func(_ *bubble, away func()) { away() },
		"as it looks for a connection":       func(_ *bubble, away func()) { go away() },
		"as its first renewal is to be sent": func(b *bubble, away func()) { b.atClock.Store(&away) },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				end(b, func() {
					b.each(func(m *fakeMember) { m.Refuse(true) })
				})
				pass(time.Second)
				b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED")
				b.each(func(m *fakeMember) { m.Refuse(false) })
				pass(ttl)
				b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "CONNECTED")
			})
		})
	}
}

// TestASessionSaysThatItsRenewalsAreRefused takes the right to renew away for a while, and then the member.
func TestASessionSaysThatItsRenewalsAreRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		refuse := func(reason tenurev1.ErrorReason) {
			b.mu.Lock()
			b.refuse = reason
			b.mu.Unlock()
			pass(ttl / 2)
		}
		pass(ttl / 2)
		if err := b.session.Refusal(); err != nil {
			t.Errorf("a session that is renewed: got %v", err)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
		err := b.session.Refusal()
		if e, ok := errors.AsType[*tenure.Error](err); !ok || e.Reason != "PERMISSION_DENIED" || !errors.Is(err, tenure.ErrAuth) {
			t.Errorf("without the right: got %v, want that it is refused", err)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED)
		if err := b.session.Refusal(); err != nil {
			t.Errorf("with the right again: got %v", err)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED)
		if err := b.session.Refusal(); !errors.Is(err, tenure.ErrAuth) {
			t.Errorf("without a credential: got %v, want that it is refused", err)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
		if err := b.session.Refusal(); err != nil {
			t.Errorf("without a leader: got %v; want none, as it is no question of rights", err)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED)
	})
}

// TestASessionWithoutTheRightToRenewAsksMoreAndMoreRarely takes the right away for most of a TTL.
func TestASessionWithoutTheRightToRenewAsksMoreAndMoreRarely(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		refuse := func(reason tenurev1.ErrorReason) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refuse = reason
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
		pass(ttl * 3 / 5)
		b.mu.Lock()
		refused := b.refusals
		b.mu.Unlock()
		if refused < 2 || refused > 12 {
			t.Errorf("%d renewals were refused in %v, want 2 to 12", refused, ttl*3/5)
		}
		refuse(tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED)
		pass(ttl / 3 * 11 / 10) // No longer than between renewals.
		if state, _ := b.session.State(); state != tenure.StateConnected || b.states.when("JEOPARDY") >= 0 {
			t.Errorf("with the right again: %v, after %v; want that it was renewed in time", state, b.states.list)
		}
	})
}

// TestASessionWithoutTheRightToRenewStaysWithItsMember takes the right away for as long as the session lives: another member would say the same,
// and all that the client does goes over the same connection.
func TestASessionWithoutTheRightToRenewStaysWithItsMember(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.refuse = tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
		b.mu.Unlock()
		for range 12 {
			if _, err := b.client.KV().Put(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refuse = 0
		if asked := slices.Compact(slices.Clone(b.putAt)); len(asked) != 1 {
			t.Errorf("puts went to %v, want one member", asked)
		}
	})
}

// TestASessionThatMayNotBeAttachedToLeavesTheConnectionToTheOthers breaks the connection of two sessions, of which one lost its rights.
func TestASessionThatMayNotBeAttachedToLeavesTheConnectionToTheOthers(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		other, err := b.client.OpenSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second) // Both are renewed: else they have nothing to ask for after a break.
		b.mu.Lock()
		b.denied = b.session.ID()
		b.mu.Unlock()
		connected := b.members[0].Connected()
		b.members[0].Cut()
		pass(ttl / 2)
		b.mu.Lock()
		denials := b.denials
		b.denied = ""
		b.mu.Unlock()
		if again := b.members[0].Connected() - connected; again != 1 || denials < 2 || denials > 12 {
			t.Errorf("connected %d times after %d denials, want once after 2 to 12", again, denials)
		}
		if state, _ := other.State(); state != tenure.StateConnected || !errors.Is(b.session.Refusal(), tenure.ErrAuth) {
			t.Errorf("the other session is %v, and the denied one says %v", state, b.session.Refusal())
		}
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED")
		pass(ttl / 3)
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "CONNECTED")
		if again := b.members[0].Connected() - connected; again != 1 {
			t.Errorf("connected %d times, want once", again)
		}
	})
}

// TestASessionThatTheStreamsCredentialDoesNotCoverIsRenewedWithThePresentOne replaces the token of a client: its stream goes on with the one
// before, which does not cover one of two sessions.
func TestASessionThatTheStreamsCredentialDoesNotCoverIsRenewedWithThePresentOne(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		other, err := b.client.OpenSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		connected := b.members[0].Connected()
		b.mu.Lock()
		b.beyond = b.session.ID()
		b.mu.Unlock()
		pass(3 * ttl)
		if err := b.session.Refusal(); err != nil {
			t.Errorf("refused: %v", err)
		}
		b.states.demand(t, "CONNECTING", "CONNECTED")
		b.mu.Lock()
		delete(b.sessions, b.session.ID())
		b.mu.Unlock()
		pass(ttl / 3 * 11 / 10)
		if state, cause := b.session.State(); state != tenure.StateClosed || cause != tenure.CauseExpired {
			t.Errorf("a session that is over is %v, %v", state, cause)
		}
		if state, _ := other.State(); state != tenure.StateConnected || b.members[0].Connected() != connected {
			t.Errorf("the other session is %v; connected %d times, want %d", state, b.members[0].Connected(), connected)
		}
	})
}

// TestASessionThatTheStreamsCredentialDoesNotCoverLeavesAMemberThatKnowsNoLeader has a member that denies renewals and knows no leader.
func TestASessionThatTheStreamsCredentialDoesNotCoverLeavesAMemberThatKnowsNoLeader(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		pass(time.Second)
		b.mu.Lock()
		b.beyond, b.refuse = b.session.ID(), tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
		b.mu.Unlock()
		connected := b.members[0].Connected()
		pass(ttl)
		b.mu.Lock()
		b.refuse = 0
		b.mu.Unlock()
		if b.members[0].Connected() == connected {
			t.Error("the client stays with a member that cannot renew")
		}
	})
}
