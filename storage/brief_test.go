package storage_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestWhoEndsManyReadsNoValues ends many keys or waits with large values at once, in every way that has no budget, and counts what
// is read for it. Every value is written anew, or moved, in the ways there are, before.
func TestWhoEndsManyReadsNoValues(t *testing.T) {
	needsNoRaceDetector(t)
	const (
		keys       = 64
		valueBytes = 64 << 10
		holder     = 0
		session    = 1
		readMax    = keys * valueBytes / 8
	)
	value := make([]byte, valueBytes)
	ref := &storev1.SessionRef{SessionId: numberedID(session)}
	put := func(p *storev1.Put) *storev1.Command {
		p.Value = value
		return &storev1.Command{Kind: &storev1.Command_Put{Put: p}}
	}
	wait := func(key string, waitMs int64) *storev1.Command {
		c := acquireCommand(key, session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
		c.GetAcquireLock().Value, c.GetAcquireLock().WaitMs = value, waitMs
		return c
	}
	destroy := &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: ref, Clean: true}}}
	endWaits := func(places map[string]uint64) *storev1.Command {
		e := &storev1.EndWaits{Term: 1}
		for i := range keys {
			key := fmt.Sprint("k", i)
			e.Places = append(e.Places, &storev1.PlaceRef{Key: key, Place: places[key], SessionId: numberedID(session)})
		}
		return &storev1.Command{Kind: &storev1.Command_EndWaits{EndWaits: e}}
	}
	tests := map[string]struct {
		behavior storev1.SessionBehavior
		before   func(key string) []*storev1.Command
		end      func(places map[string]uint64) *storev1.Command
		keysLeft uint64
	}{
		"ephemeral keys": {before: func(key string) []*storev1.Command {
			return []*storev1.Command{put(&storev1.Put{Key: key, BindSession: ref})}
		}},
		"ephemeral keys that are put again": {before: func(key string) []*storev1.Command {
			return []*storev1.Command{putCommand(key, "small"), put(&storev1.Put{Key: key, BindSession: ref}), put(&storev1.Put{Key: key})}
		}},
		"ephemeral keys that others lock": {before: func(key string) []*storev1.Command {
			return []*storev1.Command{
				put(&storev1.Put{Key: key, BindSession: ref}), acquireCommand(key, holder, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE),
			}
		}},
		"keys of locks that go with the session": {
			behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE,
			before: func(key string) []*storev1.Command {
				return []*storev1.Command{put(&storev1.Put{Key: key}), acquireCommand(key, session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)}
			},
		},
		"keys of shared locks, which stay": {
			before: func(key string) []*storev1.Command {
				return []*storev1.Command{put(&storev1.Put{Key: key}), acquireCommand(key, session, "", storev1.LockMode_LOCK_MODE_SHARED)}
			},
			keysLeft: keys,
		},
		"places in queues": {
			before: func(key string) []*storev1.Command {
				return []*storev1.Command{acquireCommand(key, holder, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait(key, 0)}
			},
			keysLeft: keys,
		},
		"places that were found again": {
			before: func(key string) []*storev1.Command {
				return []*storev1.Command{
					acquireCommand(key, holder, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait(key, 0), wait(key, 0),
				}
			},
			keysLeft: keys,
		},
		"waits whose time is over": {
			before: func(key string) []*storev1.Command {
				return []*storev1.Command{acquireCommand(key, holder, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait(key, 1000)}
			},
			end:      endWaits,
			keysLeft: keys,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, version := range []uint32{1, 2} {
				r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "data", version)}
				r.sessions(holder, 1)
				r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
					SessionId: numberedID(session), Behavior: max(test.behavior, storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE),
				}}})
				places := map[string]uint64{}
				for i := range keys {
					key := fmt.Sprint("k", i)
					_, results := r.apply(test.before(key)...)
					if p := results[len(results)-1].GetAcquireLock().GetPlace(); p != nil {
						places[key] = p.GetPlace()
					}
				}
				end := destroy
				if test.end != nil {
					end = test.end(places)
				}
				out, _ := r.apply(end)
				if version > 1 && out.BytesRead > readMax {
					t.Errorf("read %d bytes in %d rows to end %d values of %d, want at most %d", out.BytesRead, out.RowsRead, keys, valueBytes, readMax)
				}
				if got := r.store.Applied().Keys; got != test.keysLeft {
					t.Errorf("under version %d: got %d keys left, want %d", version, got, test.keysLeft)
				}
				r.checkBytes()
			}
		})
	}
}

// TestKeysAndWaitsOfBeforeTheRaiseEnd ends what version 1 wrote under version 2.
func TestKeysAndWaitsOfBeforeTheRaiseEnd(t *testing.T) {
	const valueBytes = 64 << 10
	value := make([]byte, valueBytes)
	r := &rig{t: t, store: oldStore(t, vfs.NewMem(), "data")}
	r.sessions(0, 2)
	ref := &storev1.SessionRef{SessionId: numberedID(1)}
	bind := func(key string) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key, Value: value, BindSession: ref}}}
	}
	wait := acquireCommand("lock", 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
	wait.GetAcquireLock().Value = value
	r.apply(bind("old"), bind("over"), bind("gone"), acquireCommand("lock", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait)
	r.apply(&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: 2}}})
	r.apply(bind("over"), bind("new"), &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: "gone"}}})
	r.checkBytes()
	r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: ref}}})
	if got := r.store.Applied().Keys; got != 1 {
		t.Errorf("got %d keys left, want the one of the lock", got)
	}
	r.checkBytes()
	r.read(func(reader *storage.Reader) error {
		lock, _, err := reader.Lock("lock")
		if lock.State.GetWaiters() != 0 {
			t.Errorf("got %d waiters, want none", lock.State.GetWaiters())
		}
		return err
	})
}

// TestABackupHasTheBriefs ends in a restored cluster what was large in the other one, and counts what is read.
func TestABackupHasTheBriefs(t *testing.T) {
	const keys, valueBytes, readMax = 16, 64 << 10, 256 << 10
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.sessions(0, 2)
	ref := &storev1.SessionRef{SessionId: numberedID(1)}
	for i := range keys {
		key, lock := fmt.Sprint("k", i), fmt.Sprint("l", i)
		wait := acquireCommand(lock, 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
		wait.GetAcquireLock().Value = make([]byte, valueBytes)
		r.apply(&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key, Value: make([]byte, valueBytes), BindSession: ref}}},
			acquireCommand(lock, 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait)
	}
	o := restoreOptions(1)
	o.KeepSessions = true
	store := restored(t, backupOf(t, r.store), o)
	if got, want := fmt.Sprint(backedUp(t, store)), fmt.Sprint(backedUp(t, r.store)); got != want {
		t.Error("the rows differ from those before the backup")
	}
	again := &rig{t: t, store: store}
	out, _ := again.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: ref}}})
	if out.BytesRead > readMax {
		t.Errorf("read %d bytes, want at most %d", out.BytesRead, readMax)
	}
	again.checkBytes()
}

// TestALargeWaiterThatMustWaitOnIsLeft frees room in many locks at once, each with a first waiter whose value is large and who does
// not fit yet, and counts what is read for them.
func TestALargeWaiterThatMustWaitOnIsLeft(t *testing.T) {
	needsNoRaceDetector(t)
	const locks, valueBytes, readMax = 64, 512 << 10, 8 << 20
	value := make([]byte, valueBytes)
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.sessions(0, 3)
	for i := range locks {
		key := fmt.Sprint("k", i)
		wait := acquireCommand(key, 2, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
		wait.GetAcquireLock().Value = value
		r.apply(acquireCommand(key, 0, "", storev1.LockMode_LOCK_MODE_SHARED), acquireCommand(key, 1, "", storev1.LockMode_LOCK_MODE_SHARED), wait)
	}
	destroy := func(session uint64) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(session)}, Clean: true,
		}}}
	}
	grant := &storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}}
	for session, granted := range []int{0, locks} {
		out, _ := r.apply(destroy(uint64(session)))
		got := grantsOf(out)
		for commands := 1; ; commands++ {
			if out.BytesRead > readMax {
				t.Errorf("read %d bytes, want at most %d", out.BytesRead, readMax)
			}
			if out.Applied.GrantsLeft == 0 {
				break
			}
			if commands > locks {
				t.Fatalf("after %d commands %d locks are left", commands, out.Applied.GrantsLeft)
			}
			out, _ = r.apply(grant)
			got += grantsOf(out)
		}
		if got != granted {
			t.Errorf("the end of session %d granted %d times, want %d", session, got, granted)
		}
	}
	r.checkBytes()
}

// grantsOf counts the grants that a batch tells of.
func grantsOf(out storage.Outcome) (granted int) {
	for _, e := range out.Events {
		if e.GetLockGranted() != nil {
			granted++
		}
	}
	return granted
}
