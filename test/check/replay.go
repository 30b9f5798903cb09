package check

import (
	"fmt"
	"sort"
)

// replay applies the events to the model, and compares every answer with the model at its revision.
func replay(h *History, o Options, c *checker) {
	if len(h.Events) == 0 {
		return
	}
	m := newModel()
	m.causes = causesOf(h)
	m.lag = o.GrantsMayLag
	for _, op := range h.Ops {
		if op.Limit > 0 {
			m.limits[op.Key] = op.Limit
		}
		if op.Kind == KindCreate {
			m.delays[op.Session] = op.LockDelayMs
		}
	}
	r := &replayer{m: m, c: c, o: o, at: map[uint64]int64{}}
	byRevision := append([]*Op(nil), h.Ops...)
	sort.SliceStable(byRevision, func(i, j int) bool { return byRevision[i].Revision < byRevision[j].Revision })
	next := 0
	for ; next < len(byRevision) && byRevision[next].Revision == 0; next++ {
	}
	for i := 0; i < len(h.Events); {
		j := i
		for j < len(h.Events) && h.Events[j].Revision == h.Events[i].Revision {
			j++
		}
		if !r.revision(h.Events[i:j]) {
			return // What follows cannot be told from this mistake.
		}
		for ; next < len(byRevision) && byRevision[next].Revision <= m.revision; next++ {
			r.answer(byRevision[next])
		}
		i = j
	}
	for ; next < len(byRevision); next++ {
		if op := byRevision[next]; op.Outcome == OK {
			c.fail("op %d by %s: shows revision %d, the newest is %d", op.ID, op.Client, op.Revision, m.revision)
		}
	}
	r.realTime(h)
	once(h, c)
}

// replayer is one replay under way.
type replayer struct {
	m      *model
	c      *checker
	o      Options
	events []*Event
	at     map[uint64]int64 // revision → when it was first applied
}

// revision applies one revision. It reports false if it cannot follow the ones before.
func (r *replayer) revision(events []*Event) bool {
	first := events[0]
	if want := r.m.revision + 1; first.Revision != want && r.m.revision != 0 {
		r.c.fail("revision %d follows %d", first.Revision, r.m.revision)
		return false
	}
	r.events = events
	r.m.begin(events)
	r.at[first.Revision] = first.At
	r.c.count("revisions", 1)
	for i, e := range events {
		if e.Index != uint32(i) || int(e.Count) != len(events) {
			r.c.fail("revision %d has %d events; one is number %d of %d", e.Revision, len(events), e.Index, e.Count)
			return false
		}
		if err := r.m.apply(e); err != nil {
			r.c.fail("revision %d, event %d: %v", e.Revision, e.Index, err)
			return false
		}
	}
	if err := r.m.finish(); err != nil {
		r.c.fail("revision %d: %v", first.Revision, err)
		return false
	}
	return true
}

// has says whether the present revision has an event of a kind that matches.
func (r *replayer) has(kind, key string, match func(*Event) bool) bool {
	for _, e := range r.events {
		if e.Kind == kind && e.Key == key && (match == nil || match(e)) {
			return true
		}
	}
	return false
}

func (r *replayer) fail(op *Op, format string, args ...any) {
	r.c.fail("op %d by %s (%s %s at revision %d): %s", op.ID, op.Client, op.Kind, op.Key, op.Revision, fmt.Sprintf(format, args...))
}

// answer compares an answer with the model at its revision.
func (r *replayer) answer(op *Op) {
	r.c.count("answers", 1)
	if op.Differs != "" {
		r.fail(op, "a retry was answered differently: %s", op.Differs)
	}
	if op.Outcome == Refused {
		r.refused(op)
		return
	}
	if op.Outcome != OK {
		return
	}
	if op.Changed && op.Revision != r.m.revision {
		r.fail(op, "says it made a revision that does not exist")
		return
	}
	if s := r.m.sessions[op.Session]; s != nil && op.Changed && op.Epoch != 0 && op.Kind != KindTakeOver && op.Epoch < s.epoch {
		r.fail(op, "was done for epoch %d of session %s, which is at %d", op.Epoch, op.Session, s.epoch)
	}
	if op.Guard != nil && op.Changed {
		r.guarded(op)
	}
	switch op.Kind {
	case KindGet:
		r.see(op, op.Key, r.m.key(op.Key), op.Found, op.Read, op.ModRevision)
	case KindPut, KindDelete, KindTxn:
		r.wrote(op)
	case KindAcquire, KindRelease, KindCancel, KindGetLock:
		r.locked(op)
	case KindCreate:
		if op.Changed && !r.has("session_begun", "", func(e *Event) bool { return e.Session == op.Session }) {
			r.fail(op, "session %s did not begin there", op.Session)
		}
	case KindDestroy:
		if op.Changed && !r.has("session_ended", "", func(e *Event) bool { return e.Session == op.Session }) {
			r.fail(op, "session %s did not end there", op.Session)
		}
	default:
	}
}

func (r *replayer) see(op *Op, key string, k modelKey, found bool, read string, mod uint64) {
	if found != k.exists || read != k.value || mod != k.mod {
		r.fail(op, "saw %s as (%t, %q, revision %d), it is (%t, %q, revision %d)", key, found, read, mod, k.exists, k.value, k.mod)
	}
}

// wrote checks a put, a delete or a transaction.
func (r *replayer) wrote(op *Op) {
	steps := op.Steps
	if op.Kind != KindTxn {
		steps = []Step{{Kind: op.Kind, Key: op.Key, Value: op.Value, Found: op.Done}}
	}
	written := map[string]bool{}
	for _, s := range steps {
		before := r.m.key(s.Key)
		if op.Changed {
			before = r.m.keyBefore(s.Key)
		}
		switch {
		case s.Kind == KindGet && !written[s.Key]:
			r.see(op, s.Key, before, s.Found, s.Read, s.ModRevision)
		case s.Kind == KindPut:
			written[s.Key] = true
			if !op.Changed || !r.has("key_put", s.Key, func(e *Event) bool { return e.Value == s.Value && e.Change == "put" }) {
				r.fail(op, "the put of %q to %s is not there", s.Value, s.Key)
			}
			if op.IfRevision != nil && before.mod != *op.IfRevision {
				r.fail(op, "demanded revision %d of %s, which was at %d", *op.IfRevision, s.Key, before.mod)
			}
		case s.Kind == KindDelete:
			written[s.Key] = true
			if s.Found != before.exists {
				r.fail(op, "deleted %s: %t, it existed: %t", s.Key, s.Found, before.exists)
			}
		}
	}
}

// guarded demands that the hold that a change named existed when it was made, and that its session was not dead by then.
func (r *replayer) guarded(op *Op) {
	r.c.count("guards held", 1)
	if s := r.m.sessions[op.Guard.Session]; s != nil && s.marked {
		r.fail(op, "was done under a hold of session %s, which had ended", op.Guard.Session)
	}
	if !r.holds(*op.Guard) {
		for _, h := range r.m.gone {
			if h.Hold == *op.Guard {
				return
			}
		}
		r.fail(op, "was done under hold %d of %s with token %d, which had ended", op.Guard.LockIndex, op.Guard.Key, op.Guard.Token)
	}
}

func (r *replayer) holds(want Hold) bool {
	for _, h := range r.m.lock(want.Key).holds {
		if h.Hold == want && !h.delayed {
			return true
		}
	}
	return false
}

// refused checks that what a call was refused for is the case. A reason that is not here is one that no client here should meet.
func (r *replayer) refused(op *Op) {
	switch op.Reason {
	case "compare_failed":
		switch k := r.m.key(op.Key); {
		case op.IfRevision == nil:
			r.fail(op, "was refused for revision %d, and demanded none", op.ModRevision)
		case k.mod != op.ModRevision || k.mod == *op.IfRevision:
			r.fail(op, "demanded revision %d, was refused for %d, it is at %d", *op.IfRevision, op.ModRevision, k.mod)
		}
	case "fencing_token_stale":
		r.c.count("stale guards refused", 1)
		switch {
		case op.Guard == nil:
			r.fail(op, "was refused for a guard, and has none")
		case r.holds(*op.Guard) && r.m.alive(op.Guard.Session):
			r.fail(op, "was refused, but hold %d of %s with token %d stands", op.Guard.LockIndex, op.Guard.Key, op.Guard.Token)
		}
	case "session_expired", "session_not_found":
		r.c.count("calls of ended sessions refused", 1)
		if r.m.alive(op.Session) {
			r.fail(op, "was refused, but session %s lives", op.Session)
		}
	case "session_superseded":
		r.c.count("old epochs refused", 1)
		if s := r.m.sessions[op.Session]; s == nil || op.Epoch >= s.epoch {
			r.fail(op, "was refused, but nobody took session %s over from epoch %d", op.Session, op.Epoch)
		}
	case "lock_mode_mismatch":
		if op.Kind != KindAcquire || !r.m.mismatches(op) {
			r.fail(op, "was refused, but nothing stands against %s with %d permits", op.Mode, op.Permits)
		}
	case "epoch_mismatch": // Two calls took it over at once.
		if s := r.m.sessions[op.Session]; op.Kind != KindTakeOver || s == nil || op.Epoch >= s.epoch {
			r.fail(op, "was refused, but nobody else took session %s over from epoch %d", op.Session, op.Epoch)
		}
	default:
		if !beyondModel(op) {
			r.fail(op, "was refused: %s", op.Reason)
		}
	}
}

// beyondModel reports whether a refusal is about nodes and checks, tokens and policies, or history: the model knows none.
func beyondModel(op *Op) bool {
	switch op.Kind {
	case KindGet, KindPut, KindDelete, KindTxn, KindAcquire, KindRelease, KindCancel, KindBreak, KindGetLock, KindRenew, KindDestroy, KindTakeOver:
		return false
	case KindCreate: // What it is to be bound to is not there, or is critical.
		return op.Reason == "node_not_found" || op.Reason == "check_not_found" || op.Reason == "check_critical"
	default:
		return true
	}
}

// locked checks the verbs of locks.
func (r *replayer) locked(op *Op) {
	l := r.m.lock(op.Key)
	switch op.Kind {
	case KindAcquire:
		r.acquired(op, l)
	case KindRelease:
		released := r.has("lock_released", op.Key, func(e *Event) bool { return e.Session == op.Session && e.Owner == op.Owner })
		switch {
		case op.Done && !released:
			r.fail(op, "says it released, and nothing was")
		case !op.Done && op.Hold != nil && r.holds(*op.Hold):
			r.fail(op, "says there was nothing to release, and hold %d stands", op.Hold.LockIndex)
		}
	case KindCancel:
		if op.Done && !r.has("lock_left", op.Key, func(e *Event) bool { return e.Session == op.Session && e.Owner == op.Owner }) {
			r.fail(op, "says it left the queue, and it did not")
		}
	case KindGetLock:
		if int(op.Holders) != l.valid() || int(op.Waiters) != len(l.queue) {
			r.fail(op, "saw %d holders and %d waiters, there are %d and %d", op.Holders, op.Waiters, l.valid(), len(l.queue))
		}
		if op.Hold != nil && !r.holds(*op.Hold) {
			r.fail(op, "saw hold %+v, there is %+v", *op.Hold, l.holds)
		}
	default:
	}
}

func (r *replayer) acquired(op *Op, l *modelLock) {
	switch {
	case op.Hold != nil:
		h := l.find(op.Session, op.Owner)
		if h == nil || h.Hold != *op.Hold {
			r.fail(op, "was answered with hold %+v, there is %+v", *op.Hold, l.holds)
		}
	case op.Place != 0:
		for _, w := range l.queue {
			if w.place == op.Place && w.session == op.Session && w.owner == op.Owner {
				return
			}
		}
		r.fail(op, "was answered with place %d, which is not taken", op.Place)
	default:
		if len(l.queue) == 0 && r.m.fits(op.Key, op.Mode, op.Permits) && !r.o.GrantsMayLag {
			r.fail(op, "was answered that the lock is taken, it is free")
		}
	}
}

// realTime demands that no answer is older than one that was there before the call, that a change is not older than its
// call, and that no answer shows what nobody has applied.
func (r *replayer) realTime(h *History) {
	var answers []*Op
	for _, op := range h.Ops {
		if op.Outcome == OK && op.Revision > 0 {
			answers = append(answers, op)
		}
	}
	sort.SliceStable(answers, func(i, j int) bool { return answers[i].Return < answers[j].Return })
	var newest *Op
	next := 0
	for _, op := range h.Ops {
		if op.Outcome != OK || op.Revision == 0 {
			continue
		}
		for ; next < len(answers) && answers[next].Return < op.Call; next++ {
			if newest == nil || answers[next].Revision > newest.Revision {
				newest = answers[next]
			}
		}
		if newest != nil && !op.Stale && (op.Revision < newest.Revision || op.Changed && op.Revision == newest.Revision) {
			r.fail(op, "is older than op %d by %s, which had been answered with revision %d", newest.ID, newest.Client, newest.Revision)
		}
		if at := r.at[op.Revision]; at != 0 {
			r.between(op, at)
		}
	}
}

// between compares an answer with the time at which its revision was first applied.
func (r *replayer) between(op *Op, at int64) {
	slack := r.o.SlackMs * 1e6
	if at > op.Return+slack {
		r.fail(op, "was answered at %d with what was applied at %d", op.Return, at)
	}
	if op.Changed && at < op.Call-slack {
		r.fail(op, "was called at %d and applied at %d", op.Call, at)
	}
}

// once demands that what was written is there as often as its caller was told.
func once(h *History, c *checker) {
	written := map[string]int{}
	for _, e := range h.Events {
		if e.Kind == "key_put" && e.Change == "put" && e.Value != "" {
			written[e.Value]++
		}
	}
	for _, op := range h.Ops {
		values := []string{op.Value}
		for _, s := range op.Steps {
			values = append(values, s.Value)
		}
		for _, v := range values {
			n := written[v]
			switch {
			case v == "" || op.Kind != KindPut && op.Kind != KindTxn:
			case n > 1:
				c.fail("op %d by %s: its value %q was written %d times", op.ID, op.Client, v, n)
			case n > 0 && op.Outcome == Refused:
				c.fail("op %d by %s: was refused (%s), and its value %q was written", op.ID, op.Client, op.Reason, v)
			case n == 0 && op.Outcome == OK && op.Changed:
				c.fail("op %d by %s: was acknowledged, and its value %q was never written", op.ID, op.Client, v)
			case op.Outcome == Unknown:
				c.count("unknown outcomes", 1)
			case op.Attempts > 1:
				c.count("retried changes", 1)
			}
		}
	}
}
