package sim

import (
	"fmt"
	"math"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// keyNames are the keys that clients without a session use.
func (w *World) keyName(n int) string { return fmt.Sprintf("k%d", n%w.plan.Keys) }

// keyAfter returns the key after another.
func (w *World) keyAfter(key string) string {
	for n := range w.plan.Keys {
		if w.keyName(n) == key {
			return w.keyName(n + 1)
		}
	}
	return key
}

func pick[T any](c *client, of ...T) T { return of[c.dice.IntN(len(of))] }

// useKeys reads and writes keys, one call after the other.
func useKeys(c *client) {
	known := map[string]uint64{} // revisions seen
	var next func()
	think := func() {
		if !c.w.silent {
			c.after(expo(c.dice, c.w.plan.think()), next)
		}
	}
	next = func() {
		if c.w.silent {
			return
		}
		key := c.w.keyName(c.dice.IntN(1 << 20))
		switch n := c.dice.IntN(100); {
		case n >= 30 && n < 40:
			c.look(key, c.w.keyAfter(key), known[key], func(mod uint64) { known[key] = mod; think() })
		case n < 40:
			c.get(key, n < 6, func(op *check.Op) { known[key] = op.ModRevision; think() })
		case n < 60:
			c.put(key, nil, think)
		case n < 75:
			c.put(key, new(known[key]), think)
		case n < 82:
			c.remove(key, think)
		case n < 90:
			c.transact(key, c.w.keyName(c.dice.IntN(1<<20)), known[key], think)
		default:
			c.getLock(pick(c, c.w.plan.locks()...), think)
		}
	}
	think()
}

func (c *client) get(key string, stale bool, done func(*check.Op)) {
	op := &check.Op{Kind: check.KindGet, Key: key, Stale: stale}
	c.begin(&call{
		op: op, tries: 3, ask: c.asks(tenurev1.KVService_Get_FullMethodName,
			&tenurev1.GetRequest{Key: key, Read: &tenurev1.ReadOptions{Stale: stale}}, key),
		send: func(r *life, k *call, answer func(reply)) {
			r.readState(k, stale, func(s *storage.Reader) (any, error) { return seeKey(s, key) }, answer)
		},
		done: func(rep reply) {
			if seen, ok := rep.reader.(seenKey); ok && op.Outcome == check.OK {
				op.Revision, op.Found, op.Read, op.ModRevision = seen.revision, seen.found, seen.value, seen.mod
			}
			done(op)
		},
	})
}

type seenKey struct {
	revision, mod uint64
	found         bool
	value         string
}

func seeKey(s *storage.Reader, key string) (any, error) {
	at, err := s.Applied()
	if err != nil {
		return nil, err
	}
	k, found, err := s.Get(key)
	return seenKey{at.Revision, k.GetModRevision(), found, string(k.GetValue())}, err
}

func (c *client) put(key string, ifRevision *uint64, done func()) {
	op := &check.Op{Kind: check.KindPut, Key: key, Value: c.value(), IfRevision: ifRevision}
	cmd := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
		Key: key, Value: []byte(op.Value), IfRevision: ifRevision,
	}}}
	c.change(op, cmd, func(reply) { done() })
}

func (c *client) remove(key string, done func()) {
	op := &check.Op{Kind: check.KindDelete, Key: key}
	cmd := &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: key}}}
	c.change(op, cmd, func(rep reply) {
		op.Done = rep.result.GetDelete().GetDeleted() > 0
		done()
	})
}

// transact reads one key and writes two, if the first is as it was known.
func (c *client) transact(first, second string, revision uint64, done func()) {
	if first == second {
		c.put(first, nil, done)
		return
	}
	a, b := c.value(), c.value()
	op := &check.Op{Kind: check.KindTxn, Key: first, Steps: []check.Step{
		{Kind: check.KindGet, Key: first}, {Kind: check.KindPut, Key: first, Value: a}, {Kind: check.KindPut, Key: second, Value: b},
	}}
	putOp := func(key, value string) *storev1.Op {
		return &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: key, Value: []byte(value)}}}
	}
	get := func(key string) *storev1.Op { return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: key}}} }
	cmd := &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{
		Compares: []*storev1.Compare{{
			Key: first, Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL,
			Operand: &storev1.Compare_ModRevision{ModRevision: revision},
		}, {
			Key: second, Operator: storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL, // It always is.
			Operand: &storev1.Compare_ModRevision{ModRevision: math.MaxUint64},
		}},
		ThenOps: []*storev1.Op{get(first), putOp(first, a), putOp(second, b)},
		ElseOps: []*storev1.Op{get(first), get(second)},
	}}}
	c.change(op, cmd, func(rep reply) {
		if txn := rep.result.GetTxn(); txn != nil && op.Outcome == check.OK {
			if !txn.GetSucceeded() {
				op.Steps = []check.Step{{Kind: check.KindGet, Key: first}, {Kind: check.KindGet, Key: second}}
			}
			for i, res := range txn.GetResults() {
				if k := res.GetGet().GetState(); k != nil {
					s := &op.Steps[i]
					s.Found, s.Read, s.ModRevision = true, string(k.GetValue()), k.GetModRevision()
				}
			}
			if is := op.Steps[0].ModRevision; txn.GetSucceeded() != (is == revision) {
				c.w.violated("transaction", "%q is at revision %d, compared with %d: succeeded is %v", first, is, revision, txn.GetSucceeded())
			}
		}
		done()
	})
}

// look reads two keys in a transaction that only reads, in an order that says whether the first is as it was known. No log has
// it: the member that was asked answers from one state.
func (c *client) look(first, second string, revision uint64, done func(mod uint64)) {
	op := &check.Op{Kind: check.KindTxn, Key: first}
	get := func(key string) *storev1.Op { return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: key}}} }
	cmd := &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{
		Compares: []*storev1.Compare{{
			Key: first, Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL,
			Operand: &storev1.Compare_ModRevision{ModRevision: revision},
		}},
		ThenOps: []*storev1.Op{get(first), get(second)},
		ElseOps: []*storev1.Op{get(second), get(first)},
	}}}
	c.begin(&call{
		op: op, tries: 3, ask: c.asks(tenurev1.KVService_Txn_FullMethodName, lookRequest(first, second), first, second),
		send: func(r *life, k *call, answer func(reply)) {
			r.readState(k, false, func(s *storage.Reader) (any, error) { return s.Txn(cmd) }, answer)
		},
		done: func(rep reply) {
			mod := uint64(0)
			if seen, ok := rep.reader.(*storev1.Result); ok && op.Outcome == check.OK {
				mod = c.looked(op, seen, first, second)
				if (mod == revision) != seen.GetTxn().GetSucceeded() {
					c.w.violated("read", "op %d: %s is of revision %d, and the compare with %d says %t",
						op.ID, first, mod, revision, seen.GetTxn().GetSucceeded())
				}
			}
			done(mod)
		},
	})
}

// looked writes down what a transaction read, and returns the revision of the first key.
func (c *client) looked(op *check.Op, seen *storev1.Result, first, second string) (mod uint64) {
	c.w.floors.ReadTransactions++
	op.Revision = seen.GetRevision()
	keys := []string{first, second}
	if !seen.GetTxn().GetSucceeded() {
		keys = []string{second, first}
	}
	if n := len(seen.GetTxn().GetResults()); n != len(keys) {
		c.w.violated("read", "op %d: got %d results, want %d: %v", op.ID, n, len(keys), seen)
		return 0
	}
	for i, key := range keys {
		k := seen.GetTxn().GetResults()[i].GetGet().GetState()
		op.Steps = append(op.Steps, check.Step{
			Kind: check.KindGet, Key: key, Found: k != nil, Read: string(k.GetValue()), ModRevision: k.GetModRevision(),
		})
		if key == first {
			mod = k.GetModRevision()
		}
	}
	return mod
}

// getLock looks at a lock.
func (c *client) getLock(key string, done func()) {
	op := &check.Op{Kind: check.KindGetLock, Key: key}
	type seen struct {
		revision uint64
		info     storage.LockInfo
	}
	c.begin(&call{
		op: op, tries: 3, ask: c.asks(tenurev1.LockService_GetLock_FullMethodName, &tenurev1.GetLockRequest{Key: key}, key),
		send: func(r *life, k *call, answer func(reply)) {
			r.readState(k, false, func(s *storage.Reader) (any, error) {
				at, err := s.Applied()
				if err != nil {
					return nil, err
				}
				info, _, err := s.Lock(key)
				return seen{at.Revision, info}, err
			}, answer)
		},
		done: func(rep reply) {
			if s, ok := rep.reader.(seen); ok && op.Outcome == check.OK {
				op.Revision, op.Holders, op.Waiters = s.revision, s.info.State.GetHolders(), s.info.State.GetWaiters()
				if holds := s.info.State.GetHolds(); len(holds) == 1 && holds[0].GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
					op.Hold = new(holdOf(holds[0]))
				}
			}
			done()
		},
	})
}

func holdOf(h *storev1.HoldState) check.Hold {
	return check.Hold{
		Key: h.GetKey(), LockIndex: h.GetLockIndex(), Token: h.GetFencingToken(),
		Session: check.SessionText(h.GetSessionId()), Owner: h.GetOwner(),
	}
}

// operate does what operators do, now and then: break locks, compact history.
func operate(c *client) {
	var next func()
	think := func() {
		if !c.w.silent {
			c.after(expo(c.dice, 4*time.Second), next)
		}
	}
	next = func() {
		if c.w.silent {
			return
		}
		if c.dice.IntN(3) > 0 || !c.w.plan.Breaks {
			c.compact(think)
			return
		}
		c.breakLock(pick(c, c.w.plan.locks()...), nil, think)
	}
	think()
}

// breakLock breaks a lock hold by hold, as a break of very many goes on over several commands.
func (c *client) breakLock(key string, from *storev1.BreakPoint, done func()) {
	op := &check.Op{Kind: check.KindBreak, Key: key}
	c.change(op, &storev1.Command{Kind: &storev1.Command_BreakLock{BreakLock: &storev1.BreakLock{
		Key: key, Reason: "simulated", Most: 1, From: from,
	}}}, func(r reply) {
		if next := r.result.GetBreakLock().GetNext(); next != nil && !c.w.silent {
			c.breakLock(key, next, done)
			return
		}
		done()
	})
}

// compact forgets history but the last revisions.
func (c *client) compact(done func()) {
	keep := c.w.plan.KeepRevisions
	if c.w.truth.revision <= keep {
		done()
		return
	}
	target := c.w.truth.revision - keep
	c.w.compactTarget = max(c.w.compactTarget, target)
	op := &check.Op{Kind: "compact"}
	c.change(op, &storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: target}}}, func(reply) {
		if op.Outcome == check.OK {
			c.w.floors.Compactions++
		}
		done()
	})
}
