package expiry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

func TestNothingIsProposedWithoutLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.create(2*time.Second, sid(1))
		stop := c.lead()
		sleep(t, time.Second)
		stop()
		sleep(t, time.Minute)
		if n := len(c.proposed()); n != 0 {
			t.Errorf("got %d commands, want none", n)
		}
	})
}

func TestManyEndInBoundedCommandsOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 5000
		c := newCluster(t)
		under := make(chan struct{}, 1)
		c.propose = func(ctx context.Context, _ *storev1.Command) error {
			select {
			case under <- struct{}{}:
			default:
				t.Error("two commands are under way")
			}
			<-time.After(20 * time.Millisecond)
			<-under
			return ctx.Err()
		}
		leftOnce := map[string]bool{}
		c.left = func(id []byte) bool {
			if id[15]%7 != 0 || leftOnce[string(id)] {
				return false
			}
			leftOnce[string(id)] = true
			return true
		}
		defer c.lead()()
		var ids []storage.SessionID
		for i := range sessions {
			ids = append(ids, sid(i))
		}
		c.create(2*time.Second, ids...)
		sleep(t, 4*time.Second)
		for _, id := range ids {
			wantEnd(t, c, id, 2*time.Second)
		}
		named := 0
		for _, cmd := range c.proposed() {
			n := len(cmd.GetExpireSessions().GetSessionIds())
			if n > 256 {
				t.Errorf("got a command for %d sessions, want at most 256", n)
			}
			if cmd.GetExpireSessions().GetTerm() != 1 {
				t.Errorf("got term %d, want 1", cmd.GetExpireSessions().GetTerm())
			}
			named += n
		}
		if want := sessions + len(leftOnce); named != want {
			t.Errorf("got %d sessions named by commands, want %d", named, want)
		}
	})
}

func TestDelaysAndWaitsEndByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		waiter := sid(9)
		c.mu.Lock()
		c.publish(
			&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
				Key: "a", LockIndex: 3, FencingToken: 33, DelayMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
				Key: "a", LockIndex: 4, FencingToken: 44, DelayMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 5, SessionId: waiter[:], WaitMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 6, SessionId: waiter[:], WaitMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 7, SessionId: waiter[:],
			}}},
		)
		c.publish(
			&storev1.Event{Kind: &storev1.Event_LockDelayEnded{LockDelayEnded: &storev1.LockDelayEnded{Key: "a", LockIndex: 4}}},
			&storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{Key: "w", Place: 6}}},
		)
		c.mu.Unlock()
		if left, ok := c.timers.DelayLeft("a", 3); !ok || left != 1500*time.Millisecond {
			t.Errorf("DelayLeft: got %v, %v, want 1.5s, true", left, ok)
		}
		sleep(t, 1499*time.Millisecond)
		if n := len(c.proposed()); n != 0 {
			t.Fatalf("got %d commands before anything is due, want none", n)
		}
		sleep(t, 200*time.Millisecond)
		commands := c.proposed()
		if len(commands) != 2 {
			t.Fatalf("got %d commands, want 2: %v", len(commands), commands)
		}
		slices.SortFunc(commands, func(a, b *storev1.Command) int {
			return len(a.GetEndWaits().GetPlaces()) - len(b.GetEndWaits().GetPlaces())
		})
		delays := commands[0].GetEndDelays()
		if d := delays.GetDelays(); delays.GetTerm() != 1 || len(d) != 1 || d[0].GetKey() != "a" || d[0].GetLockIndex() != 3 ||
			d[0].GetFencingToken() != 33 {
			t.Errorf("got %v, want the delay of a, 3, 33 in term 1", delays)
		}
		waits := commands[1].GetEndWaits()
		if p := waits.GetPlaces(); waits.GetTerm() != 1 || len(p) != 1 || p[0].GetKey() != "w" || p[0].GetPlace() != 5 ||
			storage.SessionID(p[0].GetSessionId()) != waiter {
			t.Errorf("got %v, want place 5 of w in term 1", waits)
		}
		sleep(t, 5*time.Second)
		if n := len(c.proposed()); n != 2 {
			t.Errorf("got %d commands in the end, want 2", n)
		}
	})
}

func TestWhatIsAppliedDuringTheLoadIsNeitherLostNorDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.create(4*time.Second, sid(1), sid(2))
		c.paging = func() {
			c.paging = nil
			c.create(3*time.Second, sid(3))
			c.destroy(sid(2))
		}
		defer c.lead()()
		if left, _, ok := c.timers.SessionLeft(sid(3)); !ok || left != 3*time.Second {
			t.Errorf("session begun during the load: got %v, %v, want 3s, true", left, ok)
		}
		if _, _, ok := c.timers.SessionLeft(sid(2)); ok {
			t.Error("session ended during the load: got it among the live")
		}
		sleep(t, 6*time.Second)
		wantEnd(t, c, sid(1), 4*time.Second)
		wantEnd(t, c, sid(3), 3*time.Second)
		for _, cmd := range c.proposed() {
			for _, id := range cmd.GetExpireSessions().GetSessionIds() {
				if storage.SessionID(id) == sid(2) {
					t.Error("got an Expire for a session that was destroyed")
				}
			}
		}
	})
}

func TestTheTimeThatALoadTakesIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.delays = []storage.Delay{{Key: "k", LockIndex: 7, FencingToken: 70, DelayMs: 3000}}
		c.create(4*time.Second, sid(1))
		c.loadTakes = 10 * time.Second
		defer c.lead()()
		if left, _, ok := c.timers.SessionLeft(sid(1)); !ok || left != 4*time.Second {
			t.Errorf("SessionLeft: got %v, %v, want 4s", left, ok)
		}
		if left, ok := c.timers.DelayLeft("k", 7); !ok || left != 3*time.Second {
			t.Errorf("DelayLeft: got %v, %v, want 3s", left, ok)
		}
		sleep(t, 6*time.Second)
		wantEnd(t, c, sid(1), 14*time.Second)
	})
}

func TestLeftGrantsAreFollowedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.mu.Lock()
		c.applied.GrantsLeft = 3
		c.publish()
		c.mu.Unlock()
		sleep(t, time.Second)
		if n := len(c.proposed()); n != 3 {
			t.Errorf("got %d commands, want 3", n)
		}
	})
}

// While the state stands behind what is committed nothing ends, however long that takes: renewals wait for it. Afterwards every
// session has the time that it had left.
func TestNothingEndsWhileTheStateStandsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(2*time.Second, sid(1), sid(2))
		sleep(t, time.Second)
		c.commit.Store(7)
		waiting := []expiry.Renewal{{ID: sid(1)}}
		c.timers.Receive(waiting)
		sleep(t, time.Minute)
		if n := len(c.proposed()); n != 0 {
			t.Errorf("got %d commands while the state stood behind, want none", n)
		}
		c.done.Store(7)
		sleep(t, 500*time.Millisecond)
		if c.timers.Settle(1, waiting); waiting[0].Verdict != expiry.Renewed {
			t.Errorf("the renewal that waited: got verdict %d, want it renewed", waiting[0].Verdict)
		}
		for range 6 {
			c.renew(sid(1))
			sleep(t, 500*time.Millisecond)
		}
		if _, ended := c.ended(sid(1)); ended {
			t.Error("a session that was renewed ended")
		}
		if _, ended := c.ended(sid(2)); !ended {
			t.Error("a session that nobody renewed lives on")
		}
	})
}

// A leader that catches up after its start is nothing to worry about; one that falls behind later is.
func TestCatchingUpIsAWarningOnlyAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.commit.Store(7)
		defer c.lead()()
		sleep(t, time.Second)
		c.done.Store(7)
		sleep(t, time.Second)
		c.commit.Store(9)
		sleep(t, time.Second)
		var got []string
		for _, line := range c.logs.All() {
			got = append(got, line.Level.String()+": "+line.Message)
		}
		want := []string{
			"info: this member is catching up; all timers are paused",
			"info: this member has caught up; all timers run again",
			"warn: this member is catching up; all timers are paused",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
