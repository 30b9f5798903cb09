package main

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// lockCases are commands about locks.
func lockCases() []cost {
	release := func(s *storev1.SessionRef, key string) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
			Key: key, Session: s, Force: true, Reason: longReason,
		}}}
	}
	return []cost{
		{kind: "acquire_lock", name: "refused behind 16 000 lost holds", build: refusedBehindDelayed},
		{kind: "acquire_lock", name: "a value of 512 KiB on a key of 512 KiB", build: func(b *builder) *storev1.Command {
			b.apply(put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes)}))
			return acquire(&storev1.AcquireLock{Key: longKey("k", 0), Session: b.session(), Owner: longOwner(0), Value: make([]byte, valueBytes)})
		}},
		{kind: "cancel_wait", name: "256 grants with 4 MiB of values", build: func(b *builder) *storev1.Command {
			key := longKey("k", 0)
			b.sharedHold(key)
			first := b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: first}))
			b.sharedQueue(key, b.n(grants), grantBytes/grants)
			return &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{Key: key, Session: first}}}
		}},
		{kind: "end_waits", name: "256 waits, longest names", build: endsWaits},
		{kind: "end_waits", name: "256 waits, each before a waiter", build: endsWaitsBeforeOthers},
		{kind: "release_lock", name: "256 grants with 4 MiB of values", build: func(b *builder) *storev1.Command {
			key, s := longKey("k", 0), b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: s}))
			b.sharedQueue(key, b.n(grants), grantBytes/grants)
			return release(s, key)
		}},
		{kind: "release_lock", name: "256 grants on a key of 512 KiB", build: func(b *builder) *storev1.Command {
			key, s := longKey("k", 0), b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: s, Value: make([]byte, valueBytes)}))
			b.sharedQueue(key, b.n(grants), 0)
			return release(s, key)
		}},
		{kind: "release_lock", name: "8 grants with values of 512 KiB", build: func(b *builder) *storev1.Command {
			key, s := longKey("k", 0), b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: s, Value: make([]byte, valueBytes)}))
			b.sharedQueue(key, 16, valueBytes)
			return release(s, key)
		}},
		{kind: "resign", name: "to a candidate with 512 KiB", build: func(b *builder) *storev1.Command {
			key, s := longKey("k", 0), b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: s, Value: make([]byte, valueBytes)}))
			b.sharedQueue(key, b.n(grants), grantBytes/grants)
			to := b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: to, Value: make([]byte, valueBytes)}))
			return &storev1.Command{Kind: &storev1.Command_Resign{Resign: &storev1.Resign{Key: key, Session: s, ToSessionId: to.GetSessionId()}}}
		}},
		{kind: "break_lock", name: "1 024 holds, longest names", build: func(b *builder) *storev1.Command {
			return b.breaks(b.sharedHolds(longKey("k", 0), b.n(2*broken)))
		}},
		{kind: "break_lock", name: "1 024 places, longest names", build: func(b *builder) *storev1.Command {
			key, s := longKey("k", 0), b.session()
			b.apply(acquire(&storev1.AcquireLock{Key: key, Session: b.session()}))
			b.many(b.n(2*broken), func(i int) *storev1.Command {
				return acquire(&storev1.AcquireLock{Key: key, Session: s, Owner: longOwner(i), WaitMs: 3_600_000})
			})
			return b.breaks(key, s)
		}},
		{kind: "end_delays", name: "256 delays, longest names", build: func(b *builder) *storev1.Command { return b.endsDelays(0, 0) }},
		{kind: "end_delays", name: "256 delays, each with a waiter", build: func(b *builder) *storev1.Command { return b.endsDelays(1, 0) }},
		{
			kind: "end_delays", name: fmt.Sprint(largeKeys, " delays of keys with 512 KiB, each with a waiter"),
			build: func(b *builder) *storev1.Command { return b.endsDelays(1, valueBytes) },
		},
		{kind: "grant_waiters", name: "256 grants of a lock each", build: func(b *builder) *storev1.Command {
			b.apply(destroy(waitedFor(b)))
			return &storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}}
		}},
		{kind: "end_freeze", name: "256 grants of a lock each", frozen: true, build: func(b *builder) *storev1.Command {
			b.queue(b.n(2*grants), longHolds.key, 1)
			return &storev1.Command{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Reason: longReason}}}
		}},
	}
}

// sharedHold has a session hold a lock with others.
func (b *builder) sharedHold(key string) {
	b.apply(acquire(&storev1.AcquireLock{Key: key, Session: b.session(), Mode: storev1.LockMode_LOCK_MODE_SHARED}))
}

// sharedQueue has so many wait to hold a lock together, with values of that size; zero gives none.
func (b *builder) sharedQueue(key string, waiters, size int) {
	var value []byte
	if size > 0 {
		value = make([]byte, size)
	}
	s := b.session()
	b.many(waiters, func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{
			Key: key, Session: s, Owner: longOwner(i), Mode: storev1.LockMode_LOCK_MODE_SHARED, Value: value, WaitMs: 3_600_000,
		})
	})
}

// sharedHolds has one session hold a lock so many times.
func (b *builder) sharedHolds(key string, n int) (string, *storev1.SessionRef) {
	s := b.session()
	b.many(n, func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{Key: key, Session: s, Owner: longOwner(i), Mode: storev1.LockMode_LOCK_MODE_SHARED})
	})
	return key, s
}

// breaks takes a lock away from a session.
func (b *builder) breaks(key string, s *storev1.SessionRef) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_BreakLock{BreakLock: &storev1.BreakLock{
		Key: key, SessionId: s.GetSessionId(), Reason: longReason, By: "127.0.0.1:1",
	}}}
}

// refusedBehindDelayed has an acquire fail on a lock with a few holders, which were granted after very many that were lost since.
func refusedBehindDelayed(b *builder) *storev1.Command {
	const lost = 16_000
	key := longKey("k", 0)
	for range 4 {
		_, s := b.sharedHolds(key, b.n(lost/4))
		b.apply(destroy(s))
	}
	b.sharedHolds(key, 8)
	command := acquire(&storev1.AcquireLock{Key: key, Session: b.session()})
	command.GetAcquireLock().Queue = false
	return command
}

// endsWaits ends waits of a lock each.
func endsWaits(b *builder) *storev1.Command {
	b.holder(longHolds)
	return b.endsWaitsOf(b.session())
}

// endsWaitsBeforeOthers ends waits, each of which stands before another that can be granted then.
func endsWaitsBeforeOthers(b *builder) *storev1.Command {
	h := b.session()
	shared := func(s *storev1.SessionRef) {
		b.many(b.n(leaderNames), func(i int) *storev1.Command {
			return acquire(&storev1.AcquireLock{
				Key: longHolds.key(i), Session: s, Owner: longOwner(i), Mode: storev1.LockMode_LOCK_MODE_SHARED, WaitMs: 3_600_000,
			})
		})
	}
	shared(h)
	command := b.endsWaitsOf(b.session())
	shared(b.session())
	return command
}

// endsWaitsOf has a session queue for locks, and ends these waits.
func (b *builder) endsWaitsOf(s *storev1.SessionRef) *storev1.Command {
	e := &storev1.EndWaits{Term: 1}
	for i, r := range b.many(b.n(leaderNames), func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i), Value: make([]byte, 1024), WaitMs: 1000})
	}) {
		e.Places = append(e.Places, &storev1.PlaceRef{
			Key: longHolds.key(i), Place: r.GetAcquireLock().GetPlace().GetPlace(), SessionId: s.GetSessionId(),
		})
	}
	return &storev1.Command{Kind: &storev1.Command_EndWaits{EndWaits: e}}
}

// endsDelays ends delays of a lock each, behind each of which so many wait; their keys have values of that size.
func (b *builder) endsDelays(waiters, size int) *storev1.Command {
	locks, s := b.n(leaderNames), b.session()
	if size > 0 {
		locks = b.n(largeKeys)
	}
	e := &storev1.EndDelays{Term: 1}
	for i, r := range b.many(locks, func(i int) *storev1.Command {
		a := &storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i), KeepKey: true}
		if size > 0 {
			a.Value = make([]byte, size)
		}
		return acquire(a)
	}) {
		h := r.GetAcquireLock().GetHold()
		e.Delays = append(e.Delays, &storev1.DelayRef{Key: longHolds.key(i), LockIndex: h.GetLockIndex(), FencingToken: h.GetFencingToken()})
	}
	if waiters > 0 {
		b.queue(locks, longHolds.key, waiters)
	}
	b.apply(destroy(s))
	return &storev1.Command{Kind: &storev1.Command_EndDelays{EndDelays: e}}
}
