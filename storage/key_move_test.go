package storage_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// largeKeys has a session hold so many locks whose keys have values of 512 KiB.
func (r *rig) largeKeys(session uint64, keys int) {
	r.t.Helper()
	for i := range keys {
		r.apply(&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
			Key: largeKey(i), Value: make([]byte, 512<<10), Acquire: &storev1.SessionRef{SessionId: numberedID(session)},
		}}})
	}
}

func largeKey(i int) string { return fmt.Sprintf("large/%02d", i) }

func grantWaitersCommand() *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}}
}

// moves returns what the events of an outcome say of large keys.
func moves(out storage.Outcome) map[string]storev1.KeyChange {
	changes := map[string]storev1.KeyChange{}
	for _, e := range out.Events {
		if put := e.GetKeyPut(); put != nil && len(put.GetValue()) == 512<<10 {
			changes[put.GetKey()] = put.GetChange()
		}
	}
	return changes
}

// TestACommandMovesFewLargeKeys ends, and takes over, a session that holds locks of keys with large values. The command does to the
// locks all that it must, and moves some of the keys; those that follow move the others, each key once.
func TestACommandMovesFewLargeKeys(t *testing.T) {
	needsNoRaceDetector(t)
	const keys, bytesMax = 40, 10 << 20 // A key's bytes are written with its row and with its event.
	tests := map[string]struct {
		command *storev1.Command
		change  storev1.KeyChange
		holders uint32
	}{
		"end": {
			command: &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
				Session: &storev1.SessionRef{SessionId: numberedID(0)},
			}}},
			change: storev1.KeyChange_KEY_CHANGE_LOST,
		},
		"takeover": {
			command: &storev1.Command{Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
				SessionId: numberedID(0), ReplacesEpoch: 1,
			}}},
			change:  storev1.KeyChange_KEY_CHANGE_GRANTED,
			holders: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			r.sessions(0, 1)
			r.largeKeys(0, keys)
			moved := map[string]uint64{}
			command := test.command
			for commands := 0; ; commands++ {
				out, _ := r.apply(command)
				if out.BytesWritten > bytesMax {
					t.Errorf("command %d wrote %d bytes, want at most %d", commands, out.BytesWritten, bytesMax)
				}
				for key, change := range moves(out) {
					if moved[key] != 0 || change != test.change {
						t.Errorf("command %d moved %s for %v, want %v; it was moved in revision %d", commands, key, change, test.change, moved[key])
					}
					moved[key] = out.Applied.Revision
				}
				if out.Applied.GrantsLeft == 0 {
					break
				}
				if commands > keys {
					t.Fatalf("%d keys are still left", out.Applied.GrantsLeft)
				}
				command = grantWaitersCommand()
			}
			r.read(func(reader *storage.Reader) error {
				for i := range keys {
					k, _, err := reader.Get(largeKey(i))
					if err != nil {
						return err
					}
					if len(k.GetValue()) != 512<<10 || k.GetModRevision() != moved[largeKey(i)] || k.GetVersion() != 1 {
						t.Errorf("%s: got revision %d, version %d and %d bytes, want revision %d", largeKey(i), k.GetModRevision(), k.GetVersion(),
							len(k.GetValue()), moved[largeKey(i)])
					}
					l, _, err := reader.Lock(largeKey(i))
					if err != nil {
						return err
					}
					if l.State.GetHolders() != test.holders {
						t.Errorf("%s: got %d holders, want %d", largeKey(i), l.State.GetHolders(), test.holders)
					}
				}
				return nil
			})
			r.checkBytes()
		})
	}
}

// TestAKeyThatIsLeftIsNotMovedTwice changes keys that the end of a session left to be moved: a put, a delete and a grant tell of
// them, and nothing else does later.
func TestAKeyThatIsLeftIsNotMovedTwice(t *testing.T) {
	const keys = 30
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 2)
	r.largeKeys(0, keys)
	out, _ := r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: numberedID(0)},
	}}})
	left := int(out.Applied.GrantsLeft)
	if want := keys - len(moves(out)); left != want || left < 10 {
		t.Fatalf("got %d keys left, want the %d that were not moved", left, want)
	}
	r.apply(putCommand(largeKey(keys-1), "small"),
		&storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: largeKey(keys - 2)}}})
	out, _ = r.apply(acquireCommand(largeKey(keys-3), 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	if got := moves(out)[largeKey(keys-3)]; got != storev1.KeyChange_KEY_CHANGE_GRANTED {
		t.Errorf("the grant says %v of its key, want that it was granted", got)
	}
	if got := out.Applied.GrantsLeft; int(got) != left-3 {
		t.Errorf("got %d keys left, want %d", got, left-3)
	}
	for out.Applied.GrantsLeft > 0 {
		out, _ = r.apply(grantWaitersCommand())
		for key := range moves(out) {
			if key >= largeKey(keys-3) {
				t.Errorf("%s was moved again", key)
			}
		}
		if len(moves(out)) == 0 {
			t.Fatal("a command moved nothing")
		}
	}
	r.checkBytes()
}

// TestWhatShowsNoValueCopiesNone grants a lock to many, compares keys, and releases by put, where keys have large values. The fewest
// bytes of ten runs count.
func TestWhatShowsNoValueCopiesNone(t *testing.T) {
	measuresMemory(t)
	const many, valueBytes, bytesMax = 32, 512 << 10, 8 << 20
	const shared = storev1.LockMode_LOCK_MODE_SHARED
	compares := txnCommand(&storev1.Op{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: "none"}}})
	for range many - 2 {
		compares.GetTxn().Compares = append(compares.GetTxn().GetCompares(), &storev1.Compare{
			Key: "lock", Operator: storev1.CompareOperator_COMPARE_OPERATOR_GREATER, Operand: &storev1.Compare_Value{},
		}, &storev1.Compare{
			Key: "lock", Operator: storev1.CompareOperator_COMPARE_OPERATOR_GREATER, Operand: &storev1.Compare_Version{},
		})
	}
	compares.GetTxn().Compares = compares.GetTxn().GetCompares()[:30]
	tests := map[string]struct {
		prepare func(r *rig, session uint64)
		command func(r *rig, session uint64) *storev1.Command
	}{
		"many grants": {
			prepare: func(r *rig, session uint64) {
				r.apply(acquireCommand("lock", session, "first", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
				for i := range many {
					r.apply(acquireCommand("lock", session, fmt.Sprint(i), shared))
				}
			},
			command: func(r *rig, _ uint64) *storev1.Command { return releaseCommand(r.holder("lock")) },
		},
		"compares": {
			prepare: func(*rig, uint64) {},
			command: func(*rig, uint64) *storev1.Command { return compares },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
			r.sessions(0, 10)
			r.apply(putCommand("lock", string(make([]byte, valueBytes))))
			fewest := uint64(math.MaxUint64)
			for session := range uint64(10) {
				test.prepare(r, session)
				command := test.command(r, session)
				fewest = min(fewest, allocated(func() { r.apply(command) }))
				r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
					Session: &storev1.SessionRef{SessionId: numberedID(session)},
				}}})
			}
			if fewest > bytesMax {
				t.Errorf("allocated %d bytes, want at most %d: a value has %d", fewest, bytesMax, valueBytes)
			}
			r.checkBytes()
		})
	}
}

// TestAKeyThatALockMadeGoesOnceItIsMoved ends a session that holds locks of keys with large values, and locks that made their keys
// themselves: no key of the latter stays.
func TestAKeyThatALockMadeGoesOnceItIsMoved(t *testing.T) {
	const keys, made = 12, 10
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 1)
	r.largeKeys(0, keys)
	for i := range made {
		r.apply(acquireCommand(fmt.Sprintf("made/%d", i), 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	out, _ := r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: numberedID(0)},
	}}})
	for commands := 0; out.Applied.GrantsLeft > 0; commands++ {
		if commands > keys+made {
			t.Fatalf("%d keys are still left", out.Applied.GrantsLeft)
		}
		out, _ = r.apply(grantWaitersCommand())
	}
	if got := out.Applied.Keys; got != keys {
		t.Errorf("got %d keys, want the %d that no lock made", got, keys)
	}
	r.checkBytes()
}

// TestManyHoldsOfALockAreReleasedWithOneLock releases 1 000 holds of a session by force, on a lock that remembers ended holds with long
// names. What is written is what each hold is, not as often the lock.
func TestManyHoldsOfALockAreReleasedWithOneLock(t *testing.T) {
	const holds, holdBytesMax = 1000, 10 << 10
	measuresMemory(t)
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 1)
	owner := strings.Repeat("o", 200)
	for i := range holds {
		r.apply(acquireCommand("lock", 0, fmt.Sprint(owner, i), storev1.LockMode_LOCK_MODE_SHARED))
	}
	release := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
		Key: "lock", Release: &storev1.SessionRef{SessionId: numberedID(0)}, Force: true, Reason: strings.Repeat("r", 1024),
	}}}
	bytes := allocated(func() { r.apply(release) })
	if most := uint64(holds * holdBytesMax); bytes > most {
		t.Errorf("allocated %d bytes, want at most %d", bytes, most)
	}
	r.read(func(reader *storage.Reader) error {
		l, _, err := reader.Lock("lock")
		if got := len(l.Past); err == nil && (got != 8 || l.Past[0].GetReason() != strings.Repeat("r", 128)) {
			t.Errorf("the lock remembers %d holds, the first for %q; want 8, and 128 bytes of the reason", got, l.Past[0].GetReason())
		}
		return err
	})
	r.checkBytes()
}
