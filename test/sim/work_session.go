package sim

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/test/check"
)

// useSession opens a session, renews it, and uses locks and keys under it; when it ends, it begins again.
func useSession(c *client) {
	if c.w.silent {
		return
	}
	again := func() { c.after(expo(c.dice, 500*time.Millisecond), func() { useSession(c) }) }
	s := &session{c: c, epoch: 1, open: map[uint64]bool{}, ttl: between(c.dice, c.w.plan.ttlMin(), c.w.plan.ttlMin()+4*time.Second)}
	for i := range s.id {
		s.id[i] = byte(c.dice.Uint32())
	}
	s.text = check.SessionText(s.id[:])
	c.w.sessions[s.id] = s
	s.ttl = s.ttl.Truncate(time.Millisecond)
	delay := pick(c, 0, 0, 500*time.Millisecond, 2*time.Second)
	op := &check.Op{Kind: check.KindCreate, Session: s.text, TTLMs: s.ttl.Milliseconds(), LockDelayMs: delay.Milliseconds()}
	behavior := pick(c, storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE)
	op.Behavior = strings.ToLower(strings.TrimPrefix(behavior.String(), "SESSION_BEHAVIOR_"))
	asked := c.clock()
	bound := s.bind()
	cmd := &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
		SessionId: s.id[:], Name: c.name, TtlMs: s.ttl.Milliseconds(), LockDelayMs: delay.Milliseconds(), Behavior: behavior,
		Node: s.node, Checks: bound,
	}}}
	c.change(op, cmd, func(reply) {
		if op.Outcome != check.OK {
			again()
			return
		}
		s.safe = asked + s.ttl - margin(s.ttl)
		c.session = s
		if c.w.silent { // It was asked for just before all clients fell silent.
			s.end()
			return
		}
		s.keepAlive()
		over := again
		for n := range 1 + c.w.plan.LocksAtOnce {
			s.lockLoop(n, over)
			over = func() {}
		}
		s.keyLoop()
	})
}

func ref(s *session) *storev1.SessionRef {
	return &storev1.SessionRef{SessionId: s.id[:], Epoch: s.epoch}
}

// lockLoop takes a lock, uses it, gives it back, and takes another, until the session is over.
func (s *session) lockLoop(n int, over func()) {
	c := s.c
	c.after(expo(c.dice, 2*c.w.plan.think()), func() {
		switch what := c.dice.IntN(100); {
		case s.ended:
			over()
		case c.w.silent:
		case what < 3:
			s.destroy(func() { s.lockLoop(n, over) })
		case what < 5:
			s.takeOver(func() { s.lockLoop(n, over) })
		case what < 7 && c.w.plan.Deaths && !c.w.quiet:
			s.die(over)
		default:
			s.acquire(c.wish(n), time.Duration(0), func() { s.lockLoop(n, over) })
		}
	})
}

// die leaves the session to its TTL.
func (s *session) die(over func()) {
	c := s.c
	c.w.floors.ClientDeaths++
	s.end()
	c.after(s.ttl+expo(c.dice, 3*time.Second), over)
}

// wish draws what to acquire.
func (c *client) wish(loop int) *storev1.AcquireLock {
	a := &storev1.AcquireLock{Key: pick(c, c.w.plan.locks()...), Queue: c.dice.IntN(4) > 0, Owner: pick(c, "", "a")}
	if loop > 0 {
		// Who shares an owner shares its holds, so each loop has its own.
		a.Owner += strconv.Itoa(loop)
	}
	switch a.GetKey()[0] {
	case 'r':
		a.Mode = pick(c, storev1.LockMode_LOCK_MODE_SHARED, storev1.LockMode_LOCK_MODE_SHARED, storev1.LockMode_LOCK_MODE_EXCLUSIVE)
	case 's':
		a.Mode, a.Limit, a.Permits = storev1.LockMode_LOCK_MODE_SEMAPHORE, 3, 1+uint32(c.dice.IntN(2))
	default:
		a.Mode = storev1.LockMode_LOCK_MODE_EXCLUSIVE
	}
	if a.GetQueue() && c.dice.IntN(2) == 0 {
		a.WaitMs = between(c.dice, 300*time.Millisecond, 4*time.Second).Milliseconds()
	}
	if c.dice.IntN(6) == 0 {
		a.Value = []byte(c.value())
	}
	return a
}

// acquire asks for a lock, and while it waits, asks again.
func (s *session) acquire(a *storev1.AcquireLock, waited time.Duration, done func()) {
	c := s.c
	op := &check.Op{
		Kind: check.KindAcquire, Key: a.GetKey(), Session: s.text, Epoch: s.epoch, Owner: a.GetOwner(), Queue: a.GetQueue(),
		Mode: check.Mode(a.GetMode()), Permits: a.GetPermits(), Limit: a.GetLimit(),
	}
	request := proto.CloneOf(a)
	request.Session = ref(s)
	c.change(op, &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: request}}, func(rep reply) {
		switch out := rep.result.GetAcquireLock().GetOutcome().(type) {
		case *storev1.AcquireLockResult_Hold:
			h := holdOf(out.Hold)
			op.Hold = &h
			exclusive := a.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE
			if exclusive && !s.ended && op.Outcome == check.OK {
				s.believe(h)
			}
			s.use(h, exclusive, 1+c.dice.IntN(4), done)
		case *storev1.AcquireLockResult_Place:
			op.Place = out.Place.GetPlace()
			if s.ended || c.w.silent || waited > 15*time.Second {
				s.cancel(a, done)
				return
			}
			pause := between(c.dice, 100*time.Millisecond, 400*time.Millisecond)
			c.after(pause, func() { s.acquire(a, waited+pause, done) })
		default:
			s.learn(rep)
			done()
		}
	})
}

// learn ends a session that a failure says has ended.
func (s *session) learn(rep reply) {
	switch rep.result.GetFailure().GetReason() {
	case storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED, storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND:
		if !s.ended {
			s.end()
		}
	default:
	}
}

// use writes under a hold, as often as is left, and gives it back; or forgets to.
func (s *session) use(h check.Hold, exclusive bool, left int, done func()) {
	c := s.c
	c.after(expo(c.dice, 250*time.Millisecond), func() {
		if left == 0 || c.w.silent {
			if c.dice.IntN(12) == 0 && !c.w.silent {
				done() // It stays with the session.
				return
			}
			s.release(h, done)
			return
		}
		op := &check.Op{Kind: check.KindPut, Key: "g/" + h.Key, Value: c.value(), Guard: &h, Session: s.text, Epoch: s.epoch}
		cmd := &storev1.Command{
			Guards: []*storev1.Guard{{Condition: &storev1.Guard_Held{Held: &storev1.HeldGuard{
				Key: h.Key, LockIndex: h.LockIndex, FencingToken: h.Token, SessionId: s.id[:],
			}}}},
			Kind: &storev1.Command_Put{Put: &storev1.Put{Key: op.Key, Value: []byte(op.Value)}},
		}
		if c.dice.IntN(3) == 0 {
			// As a resource outside would be written: without the session's own memory of requests.
			op.Session, op.Epoch = "", 0
		}
		c.change(op, cmd, func(rep reply) {
			s.learn(rep)
			if rep.result.GetFailure() != nil {
				if rep.result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE {
					c.w.floors.StaleGuards++
				}
				s.doubt(h)
				done()
				return
			}
			s.use(h, exclusive, left-1, done)
		})
	})
}

func (s *session) release(h check.Hold, done func()) {
	c := s.c
	s.doubt(h)
	op := &check.Op{Kind: check.KindRelease, Key: h.Key, Session: s.text, Epoch: s.epoch, Owner: h.Owner, Hold: &h}
	c.change(op, &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
		Key: h.Key, Session: ref(s), Owner: h.Owner, LockIndex: h.LockIndex,
	}}}, func(rep reply) {
		op.Done = rep.result.GetReleaseLock().GetReleased()
		s.learn(rep)
		done()
	})
}

func (s *session) cancel(a *storev1.AcquireLock, done func()) {
	c := s.c
	op := &check.Op{Kind: check.KindCancel, Key: a.GetKey(), Session: s.text, Epoch: s.epoch, Owner: a.GetOwner()}
	c.change(op, &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
		Key: a.GetKey(), Session: ref(s), Owner: a.GetOwner(),
	}}}, func(rep reply) {
		op.Done = rep.result.GetCancelWait().GetCancelled()
		s.learn(rep)
		done()
	})
}

func (s *session) destroy(done func()) {
	c := s.c
	s.end()
	op := &check.Op{Kind: check.KindDestroy, Session: s.text, Epoch: s.epoch}
	c.change(op, &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: ref(s), Clean: c.dice.IntN(2) == 0,
	}}}, func(reply) { done() })
}

// takeOver lets another instance of the program go on with the session. The old one tries to write once more.
func (s *session) takeOver(done func()) {
	c := s.c
	for len(s.beliefs) > 0 {
		s.doubt(s.beliefs[0].hold)
	}
	old := s.epoch
	op := &check.Op{Kind: check.KindTakeOver, Session: s.text, Epoch: old}
	c.change(op, &storev1.Command{Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
		SessionId: s.id[:], ReplacesEpoch: old,
	}}}, func(rep reply) {
		s.learn(rep)
		if op.Outcome != check.OK {
			// Whether it is taken over is not known, so the session is of no more use.
			s.end()
			done()
			return
		}
		s.epoch = rep.result.GetTakeOverSession().GetEpoch()
		s.last, s.open = 0, map[uint64]bool{}
		late := &check.Op{Kind: check.KindPut, Key: "old/" + c.name, Value: c.value(), Session: s.text, Epoch: old}
		c.change(late, &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
			Key: late.Key, Value: []byte(late.Value), BindSession: &storev1.SessionRef{SessionId: s.id[:], Epoch: old},
		}}}, func(reply) {
			c.w.floors.OldEpochs++
			done()
		})
	})
}

// keyLoop writes keys under the session, beside the locks.
func (s *session) keyLoop() {
	c := s.c
	c.after(expo(c.dice, c.w.plan.think()), func() {
		if s.ended || c.w.silent {
			return
		}
		next := func() { s.keyLoop() }
		key := c.w.keyName(c.dice.IntN(1 << 20))
		if c.dice.IntN(4) == 0 {
			c.get(key, false, func(*check.Op) { next() })
			return
		}
		op := &check.Op{Kind: check.KindPut, Key: key, Value: c.value(), Session: s.text, Epoch: s.epoch}
		put := &storev1.Put{Key: key, Value: []byte(op.Value)}
		if c.dice.IntN(5) == 0 {
			op.Key = "e/" + c.name
			put.Key, put.BindSession = op.Key, ref(s)
		}
		c.change(op, &storev1.Command{Kind: &storev1.Command_Put{Put: put}}, func(rep reply) {
			s.learn(rep)
			next()
		})
	})
}
