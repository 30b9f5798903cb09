package storage_test

import (
	"maps"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// The model is the state machine as one would write it with maps and slices, no disk, no batches and no undo: a command
// works on a copy, which is thrown away if a rule is broken. It says the same things as the scripts, in another way.

type modelKey struct {
	value                string
	flags                uint64
	create, mod, version uint64
	valued               uint64 // revision that gave the value
	bound                string
	byLock               bool // made by a grant, and written by nobody since
}

type modelHold struct {
	session, owner string
	mode           storev1.LockMode
	permits        uint32
	index, token   uint64
	delayed        bool
}

type modelWait struct {
	place          uint64
	session, owner string
	mode           storev1.LockMode
	permits        uint32
	value          []byte
	flags          uint64
	goes           bool // a key that the grant makes goes with the last use
}

type modelLock struct {
	index uint64
	last  uint64 // revision of the last change
	limit uint32
	holds []modelHold // by index
	queue []modelWait
}

type modelSession struct {
	epoch   uint64
	taker   string // instance of the last takeover
	deletes bool
	delay   bool
	secret  bool
}

type modelWindow struct {
	done    uint64
	results map[uint64]modelResult
	buried  uint64 // revision of the end; zero while open
}

type modelResult struct {
	digest string
	answer string
}

type windowID struct {
	session string
	epoch   uint64
}

type model struct {
	term      uint64
	version   uint32
	revision  uint64
	compacted uint64
	keys      map[string]modelKey
	locks     map[string]*modelLock
	sessions  map[string]modelSession
	ended     map[string]bool
	windows   map[windowID]*modelWindow
	keyed     map[string]modelResult
	keyedAge  []string // oldest first
	limits    *storev1.Limits

	changed bool            // by the present command
	touched map[string]bool // locks whose waiters may be granted
	later   bool            // grants wait for the end of a transaction
}

func newModel() *model {
	return &model{
		term: 1, version: 1, keys: map[string]modelKey{}, locks: map[string]*modelLock{}, sessions: map[string]modelSession{},
		ended: map[string]bool{}, windows: map[windowID]*modelWindow{}, keyed: map[string]modelResult{}, limits: &storev1.Limits{},
	}
}

// refused is the panic of a broken rule.
type refused struct {
	reason storev1.FailureReason
}

func refuse(name string) {
	panic(refused{storev1.FailureReason(storev1.FailureReason_value["FAILURE_REASON_"+name])})
}

// copyState returns a copy of what a command may change and a broken rule takes back. No command breaks a rule after it
// has ended a session.
func (m *model) copyState() *model {
	c := *m
	c.keys = maps.Clone(m.keys)
	c.sessions = maps.Clone(m.sessions)
	c.locks = make(map[string]*modelLock, len(m.locks))
	for key, l := range m.locks {
		copied := *l
		copied.holds = slices.Clone(l.holds)
		copied.queue = slices.Clone(l.queue)
		c.locks[key] = &copied
	}
	return &c
}

func (m *model) next() uint64 { return m.revision + 1 }

func orDefault(limit uint32, value int) int {
	if limit == 0 {
		return value
	}
	return int(limit)
}

func (m *model) lock(key string) *modelLock {
	if l := m.locks[key]; l != nil {
		return l
	}
	return &modelLock{}
}

// change notes a change of a lock.
func (m *model) change(key string, l *modelLock) {
	m.changed = true
	l.last = m.next()
	m.locks[key] = l
}

func (m *model) session(ref *storev1.SessionRef) (string, modelSession) {
	id := string(ref.GetSessionId())
	s, ok := m.sessions[id]
	switch {
	case !ok && m.ended[id]:
		refuse("SESSION_EXPIRED")
	case !ok:
		refuse("SESSION_NOT_FOUND")
	case ref.GetEpoch() != 0 && ref.GetEpoch() < s.epoch:
		refuse("SESSION_SUPERSEDED")
	case ref.GetEpoch() > s.epoch:
		refuse("EPOCH_MISMATCH")
	}
	return id, s
}

// objects counts what a session has.
func (m *model) objects(id string) int {
	n := 1
	for _, k := range m.keys {
		if k.bound == id {
			n++
		}
	}
	for _, l := range m.locks {
		for _, h := range l.holds {
			if h.session == id && !h.delayed {
				n++
			}
		}
		for _, w := range l.queue {
			if w.session == id {
				n++
			}
		}
	}
	return n
}

func (m *model) needRoom(id string) {
	if m.objects(id) >= orDefault(m.limits.GetSessionObjectsMax(), 4096) {
		refuse("LIMIT_EXCEEDED")
	}
}

func (m *model) put(key string, value []byte, flags uint64, bind string) {
	k, ok := m.keys[key]
	if !ok {
		k = modelKey{create: m.next()}
	}
	if bind != "" && bind != k.bound {
		m.needRoom(bind)
		k.bound = bind
	}
	k.value, k.flags, k.mod, k.byLock = string(value), flags, m.next(), false
	if k.valued != m.next() {
		k.valued = m.next()
		k.version++
	}
	m.keys[key] = k
	m.changed = true
}

func (m *model) remove(key string) bool {
	if _, ok := m.keys[key]; !ok {
		return false
	}
	delete(m.keys, key)
	m.changed = true
	if l := m.locks[key]; l != nil {
		l.last = m.next()
	}
	return true
}

// move moves mod_revision after a change of an EXCLUSIVE holder.
func (m *model) move(key string) {
	if k, ok := m.keys[key]; ok {
		k.mod = m.next()
		m.keys[key] = k
	}
}

func (l *modelLock) own(session, owner string) *modelHold {
	for i := range l.holds {
		if h := &l.holds[i]; h.session == session && h.owner == owner && !h.delayed {
			return h
		}
	}
	return nil
}

func (l *modelLock) waits(session, owner string) int {
	return slices.IndexFunc(l.queue, func(w modelWait) bool { return w.session == session && w.owner == owner })
}

func (m *model) fits(l *modelLock, mode storev1.LockMode, permits uint32) bool {
	if len(l.holds) == 0 {
		return true
	}
	if len(l.holds) >= orDefault(m.limits.GetHoldersMax(), 16_384) || l.holds[0].mode != mode {
		return false
	}
	taken := permits
	for _, h := range l.holds {
		taken += h.permits
	}
	return mode == storev1.LockMode_LOCK_MODE_SHARED ||
		mode == storev1.LockMode_LOCK_MODE_SEMAPHORE && taken <= l.limit
}

func (m *model) grant(key string, l *modelLock, h modelHold, limit uint32) *modelHold {
	l.index++
	h.index, h.token = l.index, m.next()
	l.limit = limit
	l.holds = append(l.holds, h)
	m.change(key, l)
	return &l.holds[len(l.holds)-1]
}

// granted does to a key what AcquireLock does.
func (m *model) granted(key string, mode storev1.LockMode, value []byte, flags uint64, goes bool) {
	k, exists := m.keys[key]
	if exists && !goes {
		k.byLock = false
		m.keys[key] = k
	}
	switch {
	case value != nil || !exists:
		m.put(key, value, flags, "")
		if k = m.keys[key]; value == nil && goes {
			k.byLock = true
			m.keys[key] = k
		}
	case mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE:
		m.move(key)
	}
}

// dropUnused deletes the keys that only a lock had made, and that nobody uses any more.
func (m *model) dropUnused() {
	for key, k := range m.keys {
		if l := m.lock(key); k.byLock && len(l.holds)+len(l.queue) == 0 {
			m.remove(key)
		}
	}
}

func (m *model) grantPlace(key string, l *modelLock, i int) {
	w := l.queue[i]
	l.queue = slices.Delete(slices.Clone(l.queue), i, i+1)
	m.grant(key, l, modelHold{session: w.session, owner: w.owner, mode: w.mode, permits: w.permits}, l.limit)
	m.granted(key, w.mode, w.value, w.flags, w.goes)
}

// grantTouched grants to waiters, in the order of their places, until one does not fit.
func (m *model) grantTouched() {
	if m.later {
		return
	}
	for key := range m.touched {
		l := m.lock(key)
		for len(l.queue) > 0 && m.fits(l, l.queue[0].mode, l.queue[0].permits) {
			m.grantPlace(key, l, 0)
		}
	}
	m.touched = nil
}

func (m *model) touch(key string) {
	if m.touched == nil {
		m.touched = map[string]bool{}
	}
	m.touched[key] = true
}

// end ends a valid hold.
func (m *model) end(key string, l *modelLock, session, owner string, delay bool) modelHold {
	i := slices.IndexFunc(l.holds, func(h modelHold) bool { return h.session == session && h.owner == owner && !h.delayed })
	h := l.holds[i]
	if delay {
		l.holds[i].delayed = true
	} else {
		l.holds = slices.Delete(slices.Clone(l.holds), i, i+1)
	}
	m.change(key, l)
	m.touch(key)
	if h.mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		m.move(key)
	}
	return h
}

func (m *model) leave(key string, l *modelLock, i int) {
	l.queue = slices.Delete(slices.Clone(l.queue), i, i+1)
	m.change(key, l)
	m.touch(key)
}

// valid returns how many holds are not delayed.
func (l *modelLock) valid() int {
	n := 0
	for _, h := range l.holds {
		if !h.delayed {
			n++
		}
	}
	return n
}

// used returns the mode in use, unspecified if nobody holds, waits or is delayed.
func (l *modelLock) used() storev1.LockMode {
	switch {
	case len(l.holds) > 0:
		return l.holds[0].mode
	case len(l.queue) > 0:
		return l.queue[0].mode
	default:
		return storev1.LockMode_LOCK_MODE_UNSPECIFIED
	}
}

func (m *model) endSessions(ids []string, clean bool) (ended []string) {
	for _, id := range ids {
		if _, ok := m.sessions[id]; ok && !slices.Contains(ended, id) {
			ended = append(ended, id)
		}
	}
	behaviors := map[string]modelSession{}
	for _, id := range ended {
		behaviors[id] = m.sessions[id]
		delete(m.sessions, id)
		m.ended[id] = true
		m.changed = true
	}
	for key, l := range m.locks {
		for i, w := range slices.Backward(slices.Clone(l.queue)) {
			if slices.Contains(ended, w.session) {
				m.leave(key, l, i)
			}
		}
	}
	for _, id := range ended {
		s := behaviors[id]
		for key, l := range m.locks {
			var owners []string
			for _, h := range l.holds {
				if h.session == id && !h.delayed {
					owners = append(owners, h.owner)
				}
			}
			slices.Sort(owners)
			for _, owner := range owners {
				last := l.valid() == 1
				m.end(key, l, id, owner, s.delay && !clean)
				if s.deletes && last {
					m.remove(key)
				}
			}
		}
	}
	for key, k := range m.keys {
		if slices.Contains(ended, k.bound) {
			m.remove(key)
		}
	}
	m.grantTouched()
	return ended
}

func (m *model) compact(c *storev1.Compact) {
	if c.GetRevision() > m.revision {
		refuse("REVISION_FUTURE")
	}
	if c.GetRevision() < m.compacted {
		refuse("REVISION_COMPACTED")
	}
	m.compacted = c.GetRevision()
	for key, l := range m.locks {
		if _, exists := m.keys[key]; !exists && len(l.holds)+len(l.queue) == 0 && l.last <= m.compacted {
			delete(m.locks, key)
		}
	}
	for id, w := range m.windows {
		if w.buried != 0 && w.buried <= m.compacted {
			delete(m.windows, id)
		}
	}
}
