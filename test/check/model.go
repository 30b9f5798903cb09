package check

import (
	"fmt"
	"slices"
)

// model is the state as one would write it down by hand, made from events alone. It knows which event may follow which.
type model struct {
	revision uint64
	keys     map[string]*modelKey
	locks    map[string]*modelLock
	sessions map[string]*modelSession
	// limits are the permits of semaphores, delays the lock-delays of sessions, where calls told them.
	limits map[string]uint32
	delays map[string]int64
	// causes are what calls say of why keys may go.
	causes keyCauses
	// lag says that waiters may be left ungranted.
	lag bool

	// what follows is about the present revision
	before    map[string]modelKey // keys as they were before it; exists is false for missing ones
	deleted   []deletion          // keys that it deleted
	touched   []string            // locks that it changed
	ended     []string            // sessions that it ended
	gone      []modelHold         // holds that it ended
	lost      []modelHold         // holds lost in it that have no delay yet
	exclusive map[string]int      // exclusive grants in it, by lock
	resigned  bool
	takenOver bool
}

type modelKey struct {
	exists               bool
	value                string
	create, mod, version uint64
	bound                string
}

type modelHold struct {
	Hold
	mode    string
	permits uint32
	delayed bool
	begun   int64 // when the delay began
	delayMs int64
}

type modelWait struct {
	place          uint64
	session, owner string
	mode           string
	permits        uint32
}

type modelLock struct {
	index uint64
	holds []modelHold
	queue []modelWait
	// idle says that nobody used it, and it had no key, at some time since its last grant: it may have been forgotten.
	idle bool
}

type modelSession struct {
	alive bool
	epoch uint64
	// marked says that it is dead to all calls, and its end is not carried out yet.
	marked bool
}

func newModel() *model {
	return &model{
		keys: map[string]*modelKey{}, locks: map[string]*modelLock{}, sessions: map[string]*modelSession{},
		limits: map[string]uint32{}, delays: map[string]int64{},
	}
}

func (m *model) lock(key string) *modelLock {
	l := m.locks[key]
	if l == nil {
		l = &modelLock{}
		m.locks[key] = l
	}
	return l
}

func (m *model) key(key string) modelKey {
	if k := m.keys[key]; k != nil {
		return *k
	}
	return modelKey{}
}

// keyBefore returns a key as it was before the present revision.
func (m *model) keyBefore(key string) modelKey {
	if k, ok := m.before[key]; ok {
		return k
	}
	return m.key(key)
}

func (m *model) alive(session string) bool {
	s := m.sessions[session]
	return s != nil && s.alive && !s.marked
}

// there reports whether the end of a session is not carried out yet: until then its places are in their queues.
func (m *model) there(session string) bool {
	s := m.sessions[session]
	return s != nil && s.alive
}

// find returns the valid hold of a session's owner, or nil.
func (l *modelLock) find(session, owner string) *modelHold {
	for i := range l.holds {
		if h := &l.holds[i]; h.Session == session && h.Owner == owner && !h.delayed {
			return h
		}
	}
	return nil
}

// valid counts the holds that are not delayed.
func (l *modelLock) valid() int {
	n := 0
	for _, h := range l.holds {
		if !h.delayed {
			n++
		}
	}
	return n
}

// fits says whether holds and delays leave room.
func (m *model) fits(key, mode string, permits uint32) bool {
	l := m.lock(key)
	taken := permits
	for _, h := range l.holds {
		if h.mode != mode || mode == "exclusive" {
			return false
		}
		taken += h.permits
	}
	limit, known := m.limits[key]
	return mode != "semaphore" || !known || taken <= limit
}

// mismatches reports whether the lock's use, or what the caller has of it, does not go with what it asks for.
func (m *model) mismatches(op *Op) bool {
	l := m.lock(op.Key)
	differs := func(mode string, permits uint32) bool { return mode != op.Mode || permits != op.Permits }
	if h := l.find(op.Session, op.Owner); h != nil {
		return differs(h.mode, h.permits)
	}
	used := ""
	for _, w := range l.queue {
		if w.session == op.Session && w.owner == op.Owner {
			return differs(w.mode, w.permits)
		}
		used = w.mode
	}
	for _, h := range l.holds {
		used = h.mode
	}
	return used != "" && ((used == "semaphore") != (op.Mode == "semaphore") || used == "semaphore" && op.Limit != m.limits[op.Key])
}

// begin starts a revision.
func (m *model) begin(events []*Event) {
	m.revision = events[0].Revision
	m.before = map[string]modelKey{}
	m.deleted, m.touched, m.ended, m.gone, m.lost = nil, nil, nil, nil, nil
	m.exclusive = map[string]int{}
	m.resigned, m.takenOver = false, false
}

// apply applies an event, or says why it cannot follow.
func (m *model) apply(e *Event) error {
	switch e.Kind {
	case "key_put", "key_deleted":
		return m.applyKey(e)
	case "session_begun":
		if m.sessions[e.Session] != nil {
			return fmt.Errorf("session %s begins twice", e.Session)
		}
		m.sessions[e.Session] = &modelSession{alive: true, epoch: 1}
	case "session_taken_over":
		s := m.sessions[e.Session]
		if s == nil || !s.alive || e.Epoch != s.epoch+1 {
			return fmt.Errorf("session %s is taken over as epoch %d, it is %+v", e.Session, e.Epoch, s)
		}
		s.epoch, m.takenOver = e.Epoch, true
	case "session_ended":
		if !m.there(e.Session) {
			return fmt.Errorf("session %s ends, and does not live", e.Session)
		}
		m.sessions[e.Session].alive = false
		m.ended = append(m.ended, e.Session)
	case KindOfCatalog:
		for _, id := range e.Marked {
			if s := m.sessions[id]; s != nil {
				s.marked = true
			}
		}
	default:
		if !slices.Contains(m.touched, e.Key) {
			m.touched = append(m.touched, e.Key)
		}
		return m.applyLock(e)
	}
	return nil
}

func (m *model) applyKey(e *Event) error {
	k := m.key(e.Key)
	if _, noted := m.before[e.Key]; !noted {
		m.before[e.Key] = k
	}
	if e.Kind == "key_deleted" {
		if !k.exists {
			return fmt.Errorf("key %s is deleted, and does not exist", e.Key)
		}
		m.deleted = append(m.deleted, deletion{e, k})
		delete(m.keys, e.Key)
		return nil
	}
	if err := m.bind(e, k); err != nil {
		return err
	}
	want := modelKey{exists: true, value: e.Value, create: k.create, mod: e.Revision, version: k.version, bound: e.Bound}
	switch {
	case e.Change != "put" && (!k.exists || k.value != e.Value):
		return fmt.Errorf("key %s is moved by %s with value %q, it is %+v", e.Key, e.Change, e.Value, k)
	case e.Change == "put" && !k.exists:
		want.create, want.version = e.Revision, 1
	case e.Change == "put":
		want.version++
	}
	if e.CreateRevision != want.create || e.Version != want.version {
		return fmt.Errorf("key %s is put as version %d, created at %d, want version %d, created at %d",
			e.Key, e.Version, e.CreateRevision, want.version, want.create)
	}
	m.keys[e.Key] = &want
	return nil
}

func (m *model) applyLock(e *Event) error {
	l := m.lock(e.Key)
	switch e.Kind {
	case "lock_queued":
		return m.queued(l, e)
	case "lock_left":
		i := slices.IndexFunc(l.queue, func(w modelWait) bool { return w.place == e.Place })
		if i < 0 {
			return fmt.Errorf("place %d of %s is left, and is not taken", e.Place, e.Key)
		}
		l.queue = slices.Delete(l.queue, i, i+1)
	case "lock_granted":
		return m.grantedEvent(l, e)
	case "lock_released", "lock_lost":
		i := slices.IndexFunc(l.holds, func(h modelHold) bool {
			return h.LockIndex == e.LockIndex && h.Token == e.Token && h.Session == e.Session && h.Owner == e.Owner && !h.delayed
		})
		if i < 0 {
			return fmt.Errorf("hold %d of %s with token %d is over, and does not exist", e.LockIndex, e.Key, e.Token)
		}
		h := l.holds[i]
		m.gone = append(m.gone, h)
		l.holds = slices.Delete(l.holds, i, i+1)
		m.resigned = m.resigned || e.Cause == "resigned"
		if e.Kind == "lock_lost" {
			m.lost = append(m.lost, h)
		}
	case "lock_delay_begun":
		i := slices.IndexFunc(m.lost, func(h modelHold) bool { return h.LockIndex == e.LockIndex && h.Key == e.Key })
		if i < 0 {
			return fmt.Errorf("a delay of hold %d of %s begins, which was not lost in the same revision", e.LockIndex, e.Key)
		}
		h := m.lost[i]
		if want, known := m.delays[h.Session]; known && e.DelayMs != want {
			return fmt.Errorf("the delay of hold %d of %s is %d ms long, its session's is %d ms", e.LockIndex, e.Key, e.DelayMs, want)
		}
		h.delayed, h.begun, h.delayMs = true, e.At, e.DelayMs
		m.lost = slices.Delete(m.lost, i, i+1)
		l.holds = append(l.holds, h)
	case "lock_delay_ended":
		i := slices.IndexFunc(l.holds, func(h modelHold) bool { return h.delayed && h.LockIndex == e.LockIndex && h.Token == e.Token })
		if i < 0 {
			return fmt.Errorf("the delay of hold %d of %s ends, and there is none", e.LockIndex, e.Key)
		}
		h := l.holds[i]
		l.holds = slices.Delete(l.holds, i, i+1)
		if ran := e.At - h.begun; e.At != 0 && h.begun != 0 && ran < h.delayMs*1e6*97/100 {
			return fmt.Errorf("the delay of hold %d of %s ended after %d ms, it is %d ms long", e.LockIndex, e.Key, ran/1e6, h.delayMs)
		}
	}
	return nil
}

func (m *model) queued(l *modelLock, e *Event) error {
	switch {
	case !m.alive(e.Session):
		return fmt.Errorf("session %s queues for %s, and does not live", e.Session, e.Key)
	case e.Place != e.Revision:
		return fmt.Errorf("place %d of %s was taken at revision %d", e.Place, e.Key, e.Revision)
	case len(l.queue) == 0 && m.fits(e.Key, e.Mode, e.Permits) && !m.lag:
		return fmt.Errorf("session %s has to queue for %s, which is free", e.Session, e.Key)
	}
	l.queue = append(l.queue, modelWait{e.Place, e.Session, e.Owner, e.Mode, e.Permits})
	return nil
}

func (m *model) grantedEvent(l *modelLock, e *Event) error {
	l.index++
	at := slices.IndexFunc(l.queue, func(w modelWait) bool { return w.place == e.Place })
	switch {
	case e.LockIndex != l.index && (e.LockIndex != 1 || !l.idle): // What was forgotten begins again.
		return fmt.Errorf("%s is granted as number %d, want %d", e.Key, e.LockIndex, l.index)
	case !m.alive(e.Session):
		return fmt.Errorf("%s is granted to session %s, which does not live", e.Key, e.Session)
	case !m.fits(e.Key, e.Mode, e.Permits):
		return fmt.Errorf("%s is granted %s to session %s over %+v", e.Key, e.Mode, e.Session, l.holds)
	case e.Place == 0 && len(l.queue) > 0 && !m.takenOver:
		return fmt.Errorf("%s is granted to session %s past a queue of %d", e.Key, e.Session, len(l.queue))
	case e.Place != 0 && at < 0:
		return fmt.Errorf("%s is granted to place %d, which is not taken", e.Key, e.Place)
	case e.Place != 0 && at != 0 && !m.resigned:
		return fmt.Errorf("%s is granted to place %d before place %d", e.Key, e.Place, l.queue[0].place)
	}
	l.index, l.idle = e.LockIndex, false
	if e.Mode == "exclusive" {
		if m.exclusive[e.Key]++; m.exclusive[e.Key] > 1 {
			return fmt.Errorf("%s is granted twice in one revision", e.Key)
		}
	}
	if at >= 0 {
		l.queue = slices.Delete(l.queue, at, at+1)
	}
	l.holds = append(l.holds, modelHold{
		Hold: Hold{e.Key, e.LockIndex, e.Token, e.Session, e.Owner}, mode: e.Mode, permits: e.Permits,
	})
	return nil
}

// finish looks at what a revision left behind.
func (m *model) finish() error {
	for _, h := range m.lost {
		if m.delays[h.Session] > 0 {
			return fmt.Errorf("session %s lost %s without its lock-delay of %d ms", h.Session, h.Key, m.delays[h.Session])
		}
	}
	for _, key := range m.touched {
		l := m.lock(key)
		if len(l.queue) > 0 && m.fits(key, l.queue[0].mode, l.queue[0].permits) && !m.lag {
			return fmt.Errorf("place %d of %s waits on, and nothing stands against it", l.queue[0].place, key)
		}
	}
	if err := m.because(); err != nil {
		return err
	}
	m.noteIdle()
	for _, id := range m.ended {
		if err := m.nothingLeft(id); err != nil {
			return err
		}
	}
	return nil
}

// noteIdle notes which of the locks that a revision changed, or whose keys it did, nobody uses any more.
func (m *model) noteIdle() {
	note := func(key string) {
		if l := m.locks[key]; l != nil && len(l.holds) == 0 && len(l.queue) == 0 && !m.key(key).exists {
			l.idle = true
		}
	}
	for _, key := range m.touched {
		note(key)
	}
	for key := range m.before {
		note(key)
	}
}

// nothingLeft looks for what an ended session still has.
func (m *model) nothingLeft(id string) error {
	for key, l := range m.locks {
		for _, h := range l.holds {
			if h.Session == id && !h.delayed {
				return fmt.Errorf("session %s ended, and still holds %s", id, key)
			}
		}
		for _, w := range l.queue {
			if w.session == id {
				return fmt.Errorf("session %s ended, and still waits for %s", id, key)
			}
		}
	}
	for key, k := range m.keys {
		if k.bound == id {
			return fmt.Errorf("session %s ended, and its key %s is still there", id, key)
		}
	}
	return nil
}
