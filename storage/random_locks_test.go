package storage_test

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// lockCommand makes the command one about locks, or about limits and sessions beside them.
func (g *generator) lockCommand(cmd *storev1.Command) {
	switch n := g.rng.IntN(95); {
	case n < 38:
		cmd.Kind = &storev1.Command_AcquireLock{AcquireLock: g.acquire()}
	case n < 62:
		cmd.Kind = &storev1.Command_ReleaseLock{ReleaseLock: g.release()}
	case n < 67:
		cmd.Kind = &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key: g.key(), Session: g.ref(), Owner: g.owner(),
		}}
	case n < 72:
		cmd.Kind = &storev1.Command_EndWaits{EndWaits: g.endWaits()}
	case n < 78:
		cmd.Kind = &storev1.Command_Resign{Resign: g.resign()}
	case n < 83:
		cmd.Kind = &storev1.Command_BreakLock{BreakLock: g.breakLock()}
	case n < 89:
		cmd.Kind = &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
			SessionId: numberedID(g.session()), ReplacesEpoch: uint64(1 + g.rng.IntN(2)),
			InstanceId: [][]byte{nil, []byte("i"), []byte("j")}[g.rng.IntN(3)],
		}}
	case n < 91:
		cmd.Kind = &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: g.decidedIn()}}
	case n < 93:
		cmd.Kind = &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Term: g.decidedIn()}}
	default:
		waiters := uint32(g.rng.IntN(3) * 3)
		cmd.Kind = &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Force: waiters > 0, Limits: &storev1.Limits{
			WaitersMax:        new(waiters),
			HoldersMax:        new(uint32(g.rng.IntN(4))),
			SessionObjectsMax: new(uint32(g.rng.IntN(3) * 4)),

			IdempotencyKeysMax: new(uint32(g.rng.IntN(3) * 5)),
		}}}
	}
}

func (g *generator) owner() string {
	return []string{"", "", "x", "x\x00y"}[g.rng.IntN(4)]
}

func (g *generator) mode() (mode storev1.LockMode, permits, limit uint32) {
	switch g.rng.IntN(7) {
	case 0, 1:
		return storev1.LockMode_LOCK_MODE_SHARED, 0, 0
	case 2:
		return storev1.LockMode_LOCK_MODE_SEMAPHORE, uint32(1 + g.rng.IntN(2)), uint32(2 + g.rng.IntN(8)/7)
	default:
		return storev1.LockMode_LOCK_MODE_EXCLUSIVE, 0, 0
	}
}

func (g *generator) acquire() *storev1.AcquireLock {
	a := &storev1.AcquireLock{Key: g.key(), Session: g.ref(), Owner: g.owner(), Queue: !g.oneIn(5), Flags: uint64(g.rng.IntN(3)), KeepKey: g.oneIn(6)}
	a.Mode, a.Permits, a.Limit = g.mode()
	if g.oneIn(3) {
		a.Value = g.value()
	}
	if a.GetQueue() && g.oneIn(3) {
		a.WaitMs = 1000
	}
	return a
}

// holder returns a hold that is there, if there is one; mostly the one of a random key.
func (g *generator) holder() *storev1.HoldState {
	r := g.store.NewReader()
	defer g.close(r)
	key := g.key()
	holds, err := allHolds(r, key)
	if err != nil {
		g.t.Fatal(err)
	}
	if len(holds) == 0 {
		return &storev1.HoldState{Key: key, SessionId: numberedID(g.session()), Owner: g.owner(), LockIndex: 1, FencingToken: 1}
	}
	h := holds[g.rng.IntN(len(holds))]
	switch g.rng.IntN(12) {
	case 0:
		h.SessionId = numberedID(g.session())
	case 1:
		h.Owner = g.owner()
	case 2:
		h.LockIndex++
	case 3:
		h.FencingToken--
	}
	return h
}

// waiter returns a place that is there, if there is one.
func (g *generator) waiter(key string) storage.WaiterEntry {
	r := g.store.NewReader()
	defer g.close(r)
	waiters, _, err := r.Waiters(key, 0, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	if len(waiters) == 0 || g.oneIn(10) {
		return storage.WaiterEntry{Key: key, Place: 1, Record: &storev1.WaiterRecord{SessionId: numberedID(g.session())}}
	}
	return waiters[g.rng.IntN(len(waiters))]
}

func (g *generator) release() *storev1.ReleaseLock {
	h := g.holder()
	r := &storev1.ReleaseLock{
		Key: h.GetKey(), Session: &storev1.SessionRef{SessionId: h.GetSessionId()}, Owner: h.GetOwner(), Force: g.oneIn(5),
	}
	if g.oneIn(3) {
		r.LockIndex = h.GetLockIndex()
	}
	switch g.rng.IntN(4) {
	case 0:
		r.ValueOp = &storev1.ReleaseLock_Put{Put: g.value()}
	case 1:
		r.ValueOp = &storev1.ReleaseLock_Delete{Delete: true}
	}
	return r
}

func (g *generator) endWaits() *storev1.EndWaits {
	e := &storev1.EndWaits{Term: g.decidedIn()}
	for range 1 + g.rng.IntN(3) {
		w := g.waiter(g.key())
		e.Places = append(e.Places, &storev1.PlaceRef{Key: w.Key, Place: w.Place, SessionId: w.Record.GetSessionId()})
	}
	return e
}

func (g *generator) resign() *storev1.Resign {
	h := g.holder()
	r := &storev1.Resign{Key: h.GetKey(), Session: &storev1.SessionRef{SessionId: h.GetSessionId()}, Owner: h.GetOwner()}
	if !g.oneIn(4) {
		w := g.waiter(h.GetKey())
		r.ToSessionId, r.ToOwner = w.Record.GetSessionId(), w.Record.GetOwner()
	}
	return r
}

func (g *generator) guard() *storev1.Guard {
	switch g.rng.IntN(5) {
	case 4:
		h := g.holder()
		held := &storev1.KeyGuard{Key: h.GetKey(), HeldBySessionId: h.GetSessionId()}
		if g.oneIn(4) {
			held.HeldBySessionId = []byte{}
		}
		return &storev1.Guard{Condition: &storev1.Guard_Key{Key: held}}
	case 0:
		return &storev1.Guard{Condition: &storev1.Guard_SessionAlive{SessionAlive: numberedID(g.session())}}
	case 1:
		return &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{Key: g.key(), Exists: new(g.oneIn(2))}}}
	case 2:
		key := g.key()
		return &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{Key: key, ModRevision: g.ifRevision(key)}}}
	default:
		h := g.holder()
		return &storev1.Guard{Condition: &storev1.Guard_Held{Held: &storev1.HeldGuard{
			Key: h.GetKey(), LockIndex: h.GetLockIndex(), SessionId: h.GetSessionId(), FencingToken: h.GetFencingToken(),
		}}}
	}
}

func (g *generator) txn() *storev1.Txn {
	t := &storev1.Txn{}
	for range g.rng.IntN(3) {
		m := &storev1.Compare{Key: g.key(), Operator: storev1.CompareOperator(1 + g.rng.IntN(4))}
		switch g.rng.IntN(3) {
		case 0:
			m.Operand = &storev1.Compare_Version{Version: uint64(g.rng.IntN(4))}
		case 1:
			m.Operand = &storev1.Compare_Value{Value: g.value()}
		default:
			m.Operand = &storev1.Compare_Guard{Guard: g.guard()}
		}
		t.Compares = append(t.Compares, m)
	}
	for range 1 + g.rng.IntN(4) {
		t.ThenOps = append(t.ThenOps, g.op())
		t.ElseOps = append(t.ElseOps, g.op())
	}
	return t
}

func (g *generator) op() *storev1.Op {
	switch g.rng.IntN(9) {
	case 0:
		return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: g.key(), MustExist: g.oneIn(4)}}}
	case 1:
		return &storev1.Op{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: g.key(), DropHolds: g.oneIn(2)}}}
	case 2:
		a := g.acquire()
		a.Queue, a.WaitMs = g.oneIn(20), 0
		return &storev1.Op{Kind: &storev1.Op_AcquireLock{AcquireLock: a}}
	case 3, 4:
		return &storev1.Op{Kind: &storev1.Op_ReleaseLock{ReleaseLock: g.release()}}
	case 5:
		return &storev1.Op{Kind: &storev1.Op_Check{Check: g.guard()}}
	case 6:
		return &storev1.Op{Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{
			Prefix: g.key(), DropHolds: g.oneIn(2),
		}}}
	default:
		return &storev1.Op{Kind: &storev1.Op_Put{Put: g.put()}}
	}
}
