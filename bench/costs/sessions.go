package main

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// largeKeys is how many values of 512 KiB a case has where the command leaves what is behind the first few: more would only take longer
// to build.
const largeKeys = 256

// largePlaces is how many waiters have a value of 512 KiB where the number makes a difference.
const largePlaces = 1024

// sessionCases are commands about sessions.
func sessionCases() []cost {
	expire := func(refs ...*storev1.SessionRef) *storev1.Command {
		e := &storev1.ExpireSessions{Term: 1}
		for _, s := range refs {
			e.SessionIds = append(e.SessionIds, s.GetSessionId())
		}
		return &storev1.Command{Kind: &storev1.Command_ExpireSessions{ExpireSessions: e}}
	}
	ends := func(kind string, command func(*storev1.SessionRef) *storev1.Command) []cost {
		end := func(name string, build func(*builder) *storev1.SessionRef) cost {
			return cost{kind: kind, name: name, bound: endBound, build: func(b *builder) *storev1.Command { return command(build(b)) }}
		}
		return []cost{
			end("4 095 holds, short names", func(b *builder) *storev1.SessionRef { return b.holder(shortHolds) }),
			end("4 095 holds, longest names", func(b *builder) *storev1.SessionRef { return b.holder(longHolds) }),
			end("4 095 holds, longest names, each ended 8 times before for the longest reason", oftenBroken),
			end("4 095 holds, each of a key to be deleted", deleter),
			end("4 095 holds, each with a waiter", waitedFor),
			end(fmt.Sprint(largeKeys, " holds of keys with 512 KiB"), largeHolder),
			end(fmt.Sprint(largeKeys, " holds of keys with 512 KiB, each with a waiter"), largeWaitedFor),
			end("4 095 places with values of 1 KiB", waiter),
			end("4 095 ephemeral keys, longest names", binder),
			end("4 095 ephemeral keys with 512 KiB", largeBinder),
			end("1 024 places with values of 512 KiB", largeWaiter),
		}
	}
	cases := append(ends("destroy_session", destroy), ends("expire_sessions", func(s *storev1.SessionRef) *storev1.Command { return expire(s) })...)
	return append(cases,
		cost{kind: "expire_sessions", name: "256 sessions with 4 KiB of metadata and a hold each", build: func(b *builder) *storev1.Command {
			var all []*storev1.SessionRef
			for i := range b.n(leaderNames) {
				s := b.session()
				b.apply(acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i)}))
				all = append(all, s)
			}
			return expire(all...)
		}},
		cost{kind: "create_session", name: "longest texts", build: func(*builder) *storev1.Command {
			return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: newSession(1)}}
		}},
		cost{kind: "create_session", name: "under a key that makes 1 024 others forgotten", build: func(b *builder) *storev1.Command {
			return b.forgetting(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: newSession(1)}})
		}},
		takeOver("4 095 holds, short names", func(b *builder) *storev1.SessionRef { return b.holder(shortHolds) }),
		takeOver("4 095 holds, longest names", func(b *builder) *storev1.SessionRef { return b.holder(longHolds) }),
		takeOver("4 095 holds, longest names, each ended 8 times before for the longest reason", oftenBroken),
		takeOver(fmt.Sprint(largeKeys, " holds of keys with 512 KiB"), largeHolder),
	)
}

func takeOver(name string, build func(*builder) *storev1.SessionRef) cost {
	return cost{kind: "take_over_session", name: name, bound: endBound, build: func(b *builder) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
			SessionId: build(b).GetSessionId(), ReplacesEpoch: 1, InstanceId: make([]byte, 64), PeerAddress: "127.0.0.1:1",
		}}}
	}}
}

// holds says how a session holds its locks.
type holds struct {
	key   func(i int) string
	owner func(i int) string
}

var (
	shortHolds = holds{
		key:   func(i int) string { return fmt.Sprint("lock/", i) },
		owner: func(int) string { return "" },
	}
	longHolds = holds{
		key:   func(i int) string { return longKey("lock", i) },
		owner: longOwner,
	}
)

// holder has a session hold as many locks as it may.
func (b *builder) holder(h holds) *storev1.SessionRef {
	s := b.session()
	b.hold(s, h)
	return s
}

func (b *builder) hold(s *storev1.SessionRef, h holds) {
	b.many(b.n(sessionObjects-1), func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{Key: h.key(i), Session: s, Owner: h.owner(i), KeepKey: true})
	})
}

// oftenBroken is a holder of locks that were held before by others, all of whom were ended for the longest reason.
func oftenBroken(b *builder) *storev1.SessionRef {
	const pastHolds = 8
	for range pastHolds {
		s := b.session(func(s *storev1.CreateSession) { s.LockDelayMs = 0 })
		b.hold(s, longHolds)
		b.apply(destroy(s))
	}
	return b.holder(longHolds)
}

// deleter has a session whose end deletes the keys that it holds.
func deleter(b *builder) *storev1.SessionRef {
	s := b.session(func(s *storev1.CreateSession) { s.Behavior = storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE })
	b.hold(s, longHolds)
	return s
}

// waitedFor is a holder for each of whose locks others wait, and get it without a delay.
func waitedFor(b *builder) *storev1.SessionRef {
	s := b.session(func(s *storev1.CreateSession) { s.LockDelayMs = 0 })
	b.hold(s, longHolds)
	b.queue(b.n(sessionObjects-1), longHolds.key, 1)
	return s
}

// queue has as many sessions as it takes queue behind each of so many locks.
func (b *builder) queue(locks int, key func(i int) string, each int) {
	var s *storev1.SessionRef
	b.many(locks*each, func(i int) *storev1.Command {
		if i%(sessionObjects-1) == 0 {
			s = b.session()
		}
		return acquire(&storev1.AcquireLock{Key: key(i % locks), Session: s, Owner: longOwner(i / locks), WaitMs: 3_600_000})
	})
}

// largeHolder holds locks whose keys have large values.
func largeHolder(b *builder) *storev1.SessionRef {
	s := b.session(func(s *storev1.CreateSession) { s.LockDelayMs = 0 })
	b.many(b.n(largeKeys), func(i int) *storev1.Command {
		return put(&storev1.Put{Key: longHolds.key(i), Value: make([]byte, valueBytes), Acquire: s})
	})
	return s
}

func largeWaitedFor(b *builder) *storev1.SessionRef {
	s := largeHolder(b)
	b.queue(b.n(largeKeys), longHolds.key, 1)
	return s
}

// waiter waits for as many locks of others as it may.
func waiter(b *builder) *storev1.SessionRef {
	b.holder(longHolds)
	s := b.session()
	b.many(b.n(sessionObjects-1), func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i), Value: make([]byte, 1024), WaitMs: 3_600_000})
	})
	return s
}

// largeWaiter waits with large values.
func largeWaiter(b *builder) *storev1.SessionRef {
	b.holder(longHolds)
	s := b.session()
	for i := range b.n(largePlaces) {
		b.apply(acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i), Value: make([]byte, valueBytes)}))
	}
	return s
}

// binder owns as many ephemeral keys as it may.
func binder(b *builder) *storev1.SessionRef {
	s := b.session()
	b.many(b.n(sessionObjects-1), func(i int) *storev1.Command {
		return put(&storev1.Put{Key: longHolds.key(i), Value: make([]byte, 256), BindSession: s})
	})
	return s
}

// largeBinder owns ephemeral keys with large values.
func largeBinder(b *builder) *storev1.SessionRef {
	s := b.session()
	for i := range b.n(sessionObjects - 1) { // One by one: all at once are 2 GiB.
		b.apply(put(&storev1.Put{Key: longHolds.key(i), Value: make([]byte, valueBytes), BindSession: s}))
	}
	return s
}

// forgetting gives a command an idempotency key, and fills the memory of such keys, so that the command makes as many forgotten as one
// may. Their results are as large as makes a difference.
func (b *builder) forgetting(command *storev1.Command) *storev1.Command {
	const resultBytes = 4 << 10
	b.apply(put(&storev1.Put{Key: "result", Value: make([]byte, resultBytes)}))
	b.many(b.n(forgotten), func(i int) *storev1.Command {
		return keyed(i, &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{
			{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: "result"}}},
			{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: "none"}}},
		}}}})
	})
	b.apply(limits(&storev1.Limits{IdempotencyKeysMax: new(uint32(1))}))
	return keyed(b.n(forgotten), command)
}

// keyed gives a command an idempotency key.
func keyed(i int, command *storev1.Command) *storev1.Command {
	command.IdempotencyKey = fmt.Appendf(nil, "%0128d", i)
	command.RequestDigest = make([]byte, 32)
	return command
}
