package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/storage"
)

// takePosted has the next turn take what was posted, and returns how many events that were.
func (m *member) takePosted() int {
	events := m.posted
	m.posted = nil
	m.turn.Step(events)
	return len(events)
}

// changes are what can be asked for with a guard, and the event that the core gets.
func (m *member) changes() map[string]func(ctx context.Context, guard core.Guard) error {
	return map[string]func(context.Context, core.Guard) error{
		"core.ChangeConf": func(ctx context.Context, guard core.Guard) error {
			return m.confs.Change(ctx, guard, &raftpb.ConfChangeV2{})
		},
		"core.Transfer": func(ctx context.Context, guard core.Guard) error { return m.confs.Transfer(ctx, guard, 2) },
	}
}

// TestAChangeOfMembersIsComparedWhereItIsProposed asks for changes of members under deny revisions, where nothing is under way that takes rights away.
func TestAChangeOfMembersIsComparedWhereItIsProposed(t *testing.T) {
	for event := range newMember().changes() {
		for sentence, c := range map[string]struct {
			below uint64
			want  error
		}{
			"a member's own change":              {0, nil},
			"one that is allowed":                {8, nil},
			"one from before the last raise":     {7, membership.ErrRightsTaken},
			"one from before there were any":     {1, membership.ErrRightsTaken},
			"one that was allowed somewhere new": {9, nil},
		} {
			synctest.Test(t, func(t *testing.T) {
				m := newMember()
				m.deny = 7
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				ended := make(chan error, 1)
				go func() { ended <- m.changes()[event](ctx, core.Guard{Term: 1, Below: c.below}) }()
				synctest.Wait()
				m.takePosted()
				if c.want == nil {
					m.is(t, event)
					return
				}
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("%s, %s: got %v, want %v", event, sentence, err, c.want)
				}
				m.is(t)
			})
		}
	}
}

// TestAChangeOfMembersWaitsForWhatTakesRights asks for a change of members behind a command that may take rights away, and is in the log: what it took
// is compared once it is applied, and what comes behind the change is not.
func TestAChangeOfMembersWaitsForWhatTakesRights(t *testing.T) {
	for event := range newMember().changes() {
		for _, takes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := newMember()
				m.deny = 7
				if _, err := m.queue.AddTaking([]byte("a")); err != nil {
					t.Fatal(err)
				}
				m.takePosted() // The command is on its way to the log.
				m.is(t, "core.Propose")
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				ended := make(chan error, 1)
				go func() { ended <- m.changes()[event](ctx, core.Guard{Term: 1, Below: 8}) }()
				for range 5 {
					synctest.Wait()
					if m.takePosted() == 0 {
						t.Fatal("it is not asked for again")
					}
					m.is(t)
					<-time.After(50 * time.Millisecond)
				}
				if takes {
					m.deny++
				}
				m.queue.Applied([]storage.EntryOutcome{{Proposer: 1, Sequence: 1}})
				if _, err := m.queue.AddTaking([]byte("b")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				m.takePosted()
				if !takes {
					m.is(t, event, "core.Propose")
					return
				}
				m.is(t, "core.Propose")
				if err := <-ended; !errors.Is(err, membership.ErrRightsTaken) {
					t.Errorf("%s: got %v, want %v", event, err, membership.ErrRightsTaken)
				}
			})
		}
	}
}

// TestAChangeOfMembersDoesNotWaitForEver asks for a change of members while rights are taken away all the time, and for one whose caller leaves.
func TestAChangeOfMembersDoesNotWaitForEver(t *testing.T) {
	for event := range newMember().changes() {
		for _, leaves := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := newMember()
				if _, err := m.queue.AddTaking([]byte("a")); err != nil {
					t.Fatal(err)
				}
				m.takePosted()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				ended := make(chan error, 1)
				go func() { ended <- m.changes()[event](ctx, core.Guard{Term: 1, Below: 8}) }()
				if leaves {
					synctest.Wait()
					leave()
				}
				for {
					synctest.Wait()
					select {
					case err := <-ended:
						if leaves != errors.Is(err, context.Canceled) || !leaves && !errors.Is(err, membership.ErrRightsUnsettled) {
							t.Errorf("%s, its caller leaves %v: got %v", event, leaves, err)
						}
						return
					default:
						m.takePosted()
						<-time.After(50 * time.Millisecond)
					}
				}
			})
		}
	}
}
