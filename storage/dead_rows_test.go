package storage_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// deadRowsMax is how many deleted rows one round may step over, however many rounds there were before.
const deadRowsMax = 32

// turn is one round of something that deletes what an earlier round made. Round i returns its commands, and what it reads
// after them.
type turn struct {
	limits *storev1.Limits
	before []*storev1.Command
	round  func(i int) []*storev1.Command
	read   func(r *storage.Reader) error
}

// TestNoCostGrowsWithWhatWasDeleted repeats what deletes rows at the beginning of a range that is scanned, and counts the
// deleted rows that each round steps over.
func TestNoCostGrowsWithWhatWasDeleted(t *testing.T) {
	for name, turn := range turns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			r.sessions(0, 4)
			if turn.limits != nil {
				r.apply(&storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: turn.limits}}})
			}
			if len(turn.before) > 0 {
				r.apply(turn.before...)
			}
			next := 0
			for _, rounds := range []int{500, roundsMax()} {
				for next < rounds {
					var many []*storev1.Command
					for range min(50, rounds-next) {
						many = append(many, turn.round(next)...)
						next++
					}
					r.apply(many...)
				}
				r.read(turn.read) // The first one may find all of them.
				before := r.store.DeadRows()
				const counted = 10
				for range counted {
					r.apply(turn.round(next)...)
					next++
					r.read(turn.read)
				}
				if stepped := r.store.DeadRows() - before; stepped > counted*deadRowsMax {
					t.Errorf("after %d rounds: got %d deleted rows stepped over in %d rounds, want at most %d in each",
						rounds, stepped, counted, deadRowsMax)
				}
			}
		})
	}
}

func (r *rig) read(read func(*storage.Reader) error) {
	r.t.Helper()
	if read == nil {
		return
	}
	reader := r.store.NewReader()
	err := read(reader)
	if closeErr := reader.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func numbered(i int) string { return fmt.Sprintf("%08d", i) }

// readLock reads what is shown of a lock.
func readLock(r *storage.Reader) error {
	if _, _, err := r.Lock("k"); err != nil {
		return err
	}
	if _, _, err := r.Holds("k", 0, 1); err != nil {
		return err
	}
	waiters, _, err := r.Waiters("k", 0, 2)
	if err != nil || len(waiters) == 0 {
		return err
	}
	_, err = r.Position("k", waiters[len(waiters)-1].Place)
	return err
}

// noDelays reads the lock, and fails if a delay of any lock has not ended.
func noDelays(r *storage.Reader) error {
	if delays, err := r.Delays(); err != nil || len(delays) > 0 {
		return fmt.Errorf("got %d delays, %w, want all ended", len(delays), err)
	}
	return readLock(r)
}

// roundsMax is after how many rounds the cost is looked at for the last time.
func roundsMax() int {
	if os.Getenv("TENURE_SOAK") == "1" {
		return 100_000
	}
	return 4_000
}

func turns() map[string]turn {
	const exclusive, shared = storev1.LockMode_LOCK_MODE_EXCLUSIVE, storev1.LockMode_LOCK_MODE_SHARED
	ref := func(i int) *storev1.SessionRef { return &storev1.SessionRef{SessionId: numberedID(uint64(i % 4))} }
	join := func(i int, mode storev1.LockMode) *storev1.Command {
		return acquireCommand("k", uint64(i%4), numbered(i), mode)
	}
	release := func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
			Key: "k", Session: ref(i), Owner: numbered(i),
		}}}
	}
	permit := func(i int) *storev1.Command {
		cmd := join(i, storev1.LockMode_LOCK_MODE_SEMAPHORE)
		cmd.GetAcquireLock().Permits, cmd.GetAcquireLock().Limit, cmd.GetAcquireLock().Queue = 1, 100, false
		return cmd
	}
	try := acquireCommand("k", 3, "try", exclusive)
	try.GetAcquireLock().Queue = false
	create := func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(uint64(i + 10)), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, LockDelayMs: 1000,
		}}}
	}
	destroy := func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(uint64(i + 10))},
		}}}
	}
	request := func(i int) *storev1.Command {
		cmd := putCommand("k", "v")
		cmd.RequestDigest = make([]byte, 32)
		cmd.RequestId = &storev1.RequestID{SessionId: numberedID(uint64(i + 10)), Epoch: 1, Sequence: 1}
		return cmd
	}
	return map[string]turn{
		"hand-over of a lock": {
			before: []*storev1.Command{join(0, exclusive), join(1, exclusive)},
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{join(i+2, exclusive), release(i)}
			},
			read: readLock,
		},
		"hand-over of a lock whose queue is empty between": {
			before: []*storev1.Command{join(0, exclusive)},
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{join(i+1, exclusive), release(i), try}
			},
			read: readLock,
		},
		"shared holders come and go beside one that stays": {
			before: []*storev1.Command{acquireCommand("k", 0, "stays", shared)},
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{join(i, shared), try, release(i)}
			},
			read: readLock,
		},
		"permits come and go beside one that stays": {
			before: []*storev1.Command{permit(1_000_000)},
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{permit(i), permit(i), release(i)}
			},
			read: readLock,
		},
		"waits are cancelled before one that stays": {
			before: []*storev1.Command{join(1_000_000, exclusive)},
			round: func(i int) []*storev1.Command {
				cancel := &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
					Key: "k", Session: ref(i), Owner: numbered(i),
				}}}
				return []*storev1.Command{join(i, exclusive), join(i+1, exclusive), cancel}
			},
			read: readLock,
		},
		"holds are delayed and end": {
			round: func(i int) []*storev1.Command {
				acquire := acquireCommand("k", uint64(i+10), "", shared)
				end := &storev1.Command{Kind: &storev1.Command_EndDelays{EndDelays: &storev1.EndDelays{
					Term: 1, Delays: []*storev1.DelayRef{{Key: "k", LockIndex: uint64(i + 1), FencingToken: uint64(4 + 4*i + 2)}},
				}}}
				return []*storev1.Command{create(i), acquire, destroy(i), try, end}
			},
			read: noDelays,
		},
		"the older of two holds is delayed": {
			before: []*storev1.Command{create(0), acquireCommand("k", 10, "", shared)},
			round: func(i int) []*storev1.Command {
				token := uint64(4 + 4*i)
				if i == 0 {
					token = 6
				}
				end := &storev1.Command{Kind: &storev1.Command_EndDelays{EndDelays: &storev1.EndDelays{
					Term: 1, Delays: []*storev1.DelayRef{{Key: "k", LockIndex: uint64(i + 1), FencingToken: token}},
				}}}
				return []*storev1.Command{create(i + 1), acquireCommand("k", uint64(i+11), "", shared), destroy(i), try, end}
			},
			read: noDelays,
		},
		"a lock whose key goes with its holder": {
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{join(i, exclusive), try, release(i)}
			},
			read: func(r *storage.Reader) error {
				if _, _, err := r.List(storage.ListQuery{Limit: 1}); err != nil {
					return err
				}
				return readLock(r)
			},
		},
		"sessions end, of which one is remembered": {
			limits: &storev1.Limits{EndedSessionsMax: new(uint32(1))},
			round:  func(i int) []*storev1.Command { return []*storev1.Command{create(i), destroy(i)} },
		},
		"requests of ended sessions are forgotten": {
			limits: &storev1.Limits{TombstoneBytesMax: new(uint64(1))},
			round:  func(i int) []*storev1.Command { return []*storev1.Command{create(i), request(i), destroy(i)} },
		},
		"requests with idempotency keys, of which one is remembered": {
			limits: &storev1.Limits{IdempotencyKeysMax: new(uint32(1))},
			round: func(i int) []*storev1.Command {
				cmd := putCommand("k", "v")
				cmd.IdempotencyKey, cmd.RequestDigest = []byte("sixteen bytes or more "+numbered(i)), make([]byte, 32)
				return []*storev1.Command{cmd}
			},
		},
		"history is compacted": {
			round: func(i int) []*storev1.Command {
				return []*storev1.Command{putCommand("k", "v"), {
					Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: uint64(i + 1)}},
				}}
			},
		},
		"keys are taken from the front by a transaction": {
			round: func(i int) []*storev1.Command {
				list := &storev1.Txn{ThenOps: []*storev1.Op{
					{Kind: &storev1.Op_List{List: &storev1.ListOp{Prefix: "q/", Limit: 1}}},
					{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: "q/" + numbered(i)}}},
				}}
				return []*storev1.Command{putCommand("q/"+numbered(i), "v"), {Kind: &storev1.Command_Txn{Txn: list}}}
			},
		},
	}
}

// TestForgettingManyRequestWindowsIsNotQuadratic ends a session when many more windows of ended sessions are kept than a
// limit that was lowered allows, and counts the deleted rows that the command steps over while it forgets them.
func TestForgettingManyRequestWindowsIsNotQuadratic(t *testing.T) {
	const windows = 500 // One command forgets as many.
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, windows+1)
	var ends []*storev1.Command
	for i := range windows {
		put := putCommand("k", "v")
		put.RequestDigest = make([]byte, 32)
		put.RequestId = &storev1.RequestID{SessionId: numberedID(uint64(i)), Epoch: 1, Sequence: 1}
		ends = append(ends, put, &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(uint64(i))},
		}}})
	}
	last := putCommand("k", "v")
	last.RequestDigest = make([]byte, 32)
	last.RequestId = &storev1.RequestID{SessionId: numberedID(windows), Epoch: 1, Sequence: 1}
	r.applyMany(append(ends, last, &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{
		Limits: &storev1.Limits{TombstoneBytesMax: new(uint64(1))}, Force: true,
	}}}))
	kept := r.store.Applied().TombstoneBytes
	before := r.store.DeadRows()
	r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: numberedID(windows)},
	}}})
	if now := r.store.Applied().TombstoneBytes; kept == 0 || now != 0 {
		t.Fatalf("got %d bytes of windows before and %d after, want all forgotten", kept, now)
	}
	if stepped := r.store.DeadRows() - before; stepped > 16*windows {
		t.Errorf("got %d deleted rows stepped over for %d windows, want a few for each", stepped, windows)
	}
}
