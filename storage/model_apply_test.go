package storage_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// apply applies a command and returns what it answers, in the words of answer.
func (m *model) apply(cmd *storev1.Command) string {
	rid := cmd.GetRequestId()
	digest := string(cmd.GetRequestDigest())
	switch {
	case rid != nil:
		return m.applyInWindow(cmd, windowID{string(rid.GetSessionId()), rid.GetEpoch()}, digest)
	case len(cmd.GetIdempotencyKey()) > 0:
		if r, ok := m.keyed[string(cmd.GetIdempotencyKey())]; ok {
			return r.retry(digest)
		}
		answer := m.attempt(cmd)
		if !readsOnly(cmd) {
			m.keep(string(cmd.GetIdempotencyKey()), modelResult{digest, answer})
		}
		return answer
	default:
		return m.attempt(cmd)
	}
}

func (r modelResult) retry(digest string) string {
	if r.digest != digest {
		return "REQUEST_ID_REUSED"
	}
	return r.answer
}

func (m *model) applyInWindow(cmd *storev1.Command, id windowID, digest string) string {
	rid := cmd.GetRequestId()
	w := m.windows[id]
	if w != nil {
		if r, ok := w.results[rid.GetSequence()]; ok {
			return r.retry(digest)
		}
	}
	s, alive := m.sessions[id.session]
	switch {
	case !alive && m.ended[id.session]:
		return "SESSION_EXPIRED"
	case !alive:
		return "SESSION_NOT_FOUND"
	case s.epoch > id.epoch:
		return "SESSION_SUPERSEDED"
	case s.epoch < id.epoch:
		return "EPOCH_MISMATCH"
	}
	if w == nil {
		w = &modelWindow{results: map[uint64]modelResult{}}
		m.windows[id] = w
	}
	if rid.GetSequence() < w.done {
		return "REQUEST_ID_DONE"
	}
	w.done = max(w.done, rid.GetDoneBelow())
	maps.DeleteFunc(w.results, func(n uint64, _ modelResult) bool { return n < w.done })
	answer := m.attempt(cmd)
	if !readsOnly(cmd) {
		w.results[rid.GetSequence()] = modelResult{digest, answer}
	}
	m.bury(cmd)
	return answer
}

// bury marks the windows whose session ended or was taken over by a command.
func (m *model) bury(cmd *storev1.Command) {
	if cmd.GetDestroySession() == nil && cmd.GetExpireSessions() == nil && cmd.GetTakeOverSession() == nil {
		return
	}
	for id, w := range m.windows {
		if s, alive := m.sessions[id.session]; w.buried == 0 && (!alive || s.epoch != id.epoch) {
			w.buried = m.revision
		}
	}
}

// attempt applies a command whole, or not at all.
func (m *model) attempt(cmd *storev1.Command) (answer string) {
	before := m.copyState()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refused:
			*m = *before
			answer = strings.TrimPrefix(p.reason.String(), "FAILURE_REASON_")
		default:
			panic(p)
		}
	}()
	m.changed, m.touched, m.later = false, nil, false
	for _, g := range cmd.GetGuards() {
		m.checkGuard(g)
	}
	what := m.run(cmd)
	m.touched = nil
	m.dropUnused()
	if m.changed {
		m.revision++
	}
	m.bury(cmd)
	return fmt.Sprintf("%d %t %s", m.revision, m.changed, what)
}

func (m *model) checkTerm(term uint64) {
	if term != m.term {
		refuse("TERM_MISMATCH")
	}
}

func (m *model) run(cmd *storev1.Command) string {
	switch c := cmd.GetKind().(type) {
	case *storev1.Command_CreateSession:
		id := string(c.CreateSession.GetSessionId())
		if _, taken := m.sessions[id]; taken || m.ended[id] {
			refuse("SESSION_EXISTS")
		}
		m.sessions[id] = modelSession{
			epoch: 1, delay: c.CreateSession.GetLockDelayMs() > 0,
			deletes: c.CreateSession.GetBehavior() == storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE,
			secret:  len(c.CreateSession.GetSecretSha256()) > 0,
		}
		m.changed = true
		return ""
	case *storev1.Command_DestroySession:
		ref := c.DestroySession.GetSession()
		id, _ := m.session(ref)
		return fmt.Sprint(len(m.endSessions([]string{id}, c.DestroySession.GetClean())))
	case *storev1.Command_ExpireSessions:
		m.checkTerm(c.ExpireSessions.GetTerm())
		var ids []string
		for _, b := range c.ExpireSessions.GetSessionIds() {
			ids = append(ids, string(b))
		}
		return fmt.Sprint(len(m.endSessions(ids, false)))
	case *storev1.Command_TakeOverSession:
		return m.takeOver(c.TakeOverSession)
	case *storev1.Command_Put:
		return m.putVerb(c.Put, 0)
	case *storev1.Command_Delete:
		deleted := m.deleteVerb(c.Delete)
		m.grantTouched()
		return deleted
	case *storev1.Command_DeletePrefix:
		deleted := m.deletePrefix(c.DeletePrefix)
		m.grantTouched()
		return deleted
	case *storev1.Command_Txn:
		return m.txn(c.Txn)
	case *storev1.Command_Compact:
		m.compact(c.Compact)
		return ""
	case *storev1.Command_SetLimits:
		if limit := orDefault(c.SetLimits.GetLimits().GetIdempotencyKeysMax(), 100_000); m.version >= 2 && !c.SetLimits.GetForce() &&
			limit < len(m.keyedAge) && limit < orDefault(m.limits.GetIdempotencyKeysMax(), 100_000) {
			refuse("LIMIT_IN_USE")
		}
		m.limits = c.SetLimits.GetLimits()
		for key := range m.locks { // More holders may be allowed.
			m.touch(key)
		}
		m.grantTouched()
		return ""
	default:
		return m.runLock(cmd)
	}
}

func (m *model) runLock(cmd *storev1.Command) string {
	switch c := cmd.GetKind().(type) {
	case *storev1.Command_AcquireLock:
		return m.acquire(c.AcquireLock)
	case *storev1.Command_ReleaseLock:
		return m.release(c.ReleaseLock)
	case *storev1.Command_CancelWait:
		id, _ := m.session(c.CancelWait.GetSession())
		key := c.CancelWait.GetKey()
		l := m.lock(key)
		i := l.waits(id, c.CancelWait.GetOwner())
		if i < 0 {
			return fmt.Sprint(false, l.own(id, c.CancelWait.GetOwner()) != nil)
		}
		m.leave(key, l, i)
		m.grantTouched()
		return fmt.Sprint(true, false)
	case *storev1.Command_EndWaits:
		m.checkTerm(c.EndWaits.GetTerm())
		for _, p := range c.EndWaits.GetPlaces() {
			l := m.lock(p.GetKey())
			i := slices.IndexFunc(l.queue, func(w modelWait) bool {
				return w.place == p.GetPlace() && w.session == string(p.GetSessionId())
			})
			if i >= 0 {
				m.leave(p.GetKey(), l, i)
			}
		}
		m.grantTouched()
		return ""
	case *storev1.Command_EndDelays:
		m.checkTerm(c.EndDelays.GetTerm())
		for _, d := range c.EndDelays.GetDelays() {
			l := m.lock(d.GetKey())
			i := slices.IndexFunc(l.holds, func(h modelHold) bool {
				return h.delayed && h.index == d.GetLockIndex() && h.token == d.GetFencingToken()
			})
			if i >= 0 {
				l.holds = slices.Delete(slices.Clone(l.holds), i, i+1)
				m.change(d.GetKey(), l)
				m.touch(d.GetKey())
			}
		}
		m.grantTouched()
		return ""
	case *storev1.Command_Resign:
		return m.resign(c.Resign)
	case *storev1.Command_BreakLock:
		return m.breakLock(c.BreakLock)
	case *storev1.Command_GrantWaiters:
		m.checkTerm(c.GrantWaiters.GetTerm())
		return ""
	case *storev1.Command_SetClusterVersion:
		m.version = c.SetClusterVersion.GetVersion()
		return ""
	case *storev1.Command_EndFreeze:
		if c.EndFreeze.GetTerm() != 0 {
			m.checkTerm(c.EndFreeze.GetTerm())
		}
		return ""
	default:
		panic(fmt.Sprintf("model knows no %T", c))
	}
}

func (m *model) takeOver(t *storev1.TakeOverSession) string {
	id, s := m.session(&storev1.SessionRef{SessionId: t.GetSessionId()})
	if t.GetReplacesEpoch() == s.epoch-1 && s.taker != "" && s.taker == string(t.GetInstanceId()) {
		return fmt.Sprint(s.epoch)
	}
	if t.GetReplacesEpoch() != s.epoch {
		refuse("EPOCH_MISMATCH")
	}
	s.epoch++
	s.taker = string(t.GetInstanceId())
	m.sessions[id] = s
	m.changed = true
	for key, l := range m.locks {
		var owners []string
		for _, h := range l.holds {
			if h.session == id && !h.delayed {
				owners = append(owners, h.owner)
			}
		}
		slices.Sort(owners)
		for _, owner := range owners {
			h := m.end(key, l, id, owner, false)
			m.grant(key, l, modelHold{session: id, owner: owner, mode: h.mode, permits: h.permits}, l.limit)
		}
	}
	return fmt.Sprint(s.epoch)
}

func checkWanted(want *uint64, k modelKey) {
	if want != nil && *want != k.mod {
		refuse("COMPARE_FAILED")
	}
}

func (m *model) putVerb(p *storev1.Put, op int) string {
	key := p.GetKey()
	if p.GetSequential() {
		key = fmt.Sprintf("%s%020d%03d", key, m.next(), op)
	}
	checkWanted(p.IfRevision, m.keys[key])
	bind := ""
	if p.GetBindSession() != nil {
		bind, _ = m.session(p.GetBindSession())
	}
	l := m.lock(key)
	switch {
	case p.GetAcquire() != nil:
		id, _ := m.session(p.GetAcquire())
		h := l.own(id, "")
		if h == nil && len(l.holds)+len(l.queue) == 0 {
			m.needRoom(id)
			h = m.grant(key, l, modelHold{session: id, mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE}, 0)
		}
		if h == nil || h.mode != storev1.LockMode_LOCK_MODE_EXCLUSIVE {
			return "false"
		}
		m.put(key, p.GetValue(), p.GetFlags(), "")
		return fmt.Sprintf("true %d %d", h.index, h.token)
	case p.GetRelease() != nil:
		ref := p.GetRelease()
		if p.GetForce() {
			ref = &storev1.SessionRef{SessionId: ref.GetSessionId()}
		}
		id, _ := m.session(ref)
		released := false
		for _, h := range slices.Clone(l.holds) {
			if h.session == id && !h.delayed && (h.owner == "" || p.GetForce()) {
				m.end(key, l, id, h.owner, false)
				released = true
			}
		}
		if !released {
			return "false"
		}
		m.put(key, p.GetValue(), p.GetFlags(), "")
		m.grantTouched()
		return "true"
	default:
		m.put(key, p.GetValue(), p.GetFlags(), bind)
		return "put"
	}
}

func (m *model) deleteVerb(d *storev1.Delete) string {
	checkWanted(d.IfRevision, m.keys[d.GetKey()])
	if d.GetDropHolds() {
		m.dropHold(d.GetKey())
	}
	if m.remove(d.GetKey()) {
		return "1"
	}
	return "0"
}

// dropHold ends the hold that a put made, if anybody may act as its session.
func (m *model) dropHold(key string) {
	l := m.lock(key)
	for _, h := range slices.Clone(l.holds) {
		if m.version >= 2 && h.mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE && !h.delayed && h.owner == "" && !m.sessions[h.session].secret {
			m.end(key, l, h.session, "", false)
		}
	}
}

func (m *model) deletePrefix(d *storev1.DeletePrefix) string {
	n := 0
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		if !strings.HasPrefix(key, d.GetPrefix()) || m.version >= 2 && d.GetKeysMax() > 0 && n == int(d.GetKeysMax()) {
			continue
		}
		if d.GetDropHolds() {
			m.dropHold(key)
		}
		m.remove(key)
		n++
	}
	return fmt.Sprint(n)
}

func (m *model) acquire(a *storev1.AcquireLock) string {
	const semaphore = storev1.LockMode_LOCK_MODE_SEMAPHORE
	key := a.GetKey()
	id, _ := m.session(a.GetSession())
	l := m.lock(key)
	if h := l.own(id, a.GetOwner()); h != nil {
		if h.mode != a.GetMode() || h.permits != a.GetPermits() {
			refuse("LOCK_MODE_MISMATCH")
		}
		return fmt.Sprintf("held %d %d", h.index, h.token)
	}
	if i := l.waits(id, a.GetOwner()); i >= 0 {
		if l.queue[i].mode != a.GetMode() || l.queue[i].permits != a.GetPermits() {
			refuse("LOCK_MODE_MISMATCH")
		}
		return fmt.Sprintf("waits %d", l.queue[i].place)
	}
	if used := l.used(); used != storev1.LockMode_LOCK_MODE_UNSPECIFIED {
		if (used == semaphore) != (a.GetMode() == semaphore) || used == semaphore && l.limit != a.GetLimit() {
			refuse("LOCK_MODE_MISMATCH")
		}
	}
	goes := m.version >= 2 && !a.GetKeepKey()
	switch {
	case len(l.queue) == 0 && m.fits(l, a.GetMode(), a.GetPermits()):
		m.needRoom(id)
		h := *m.grant(key, l, modelHold{session: id, owner: a.GetOwner(), mode: a.GetMode(), permits: a.GetPermits()}, a.GetLimit())
		m.granted(key, a.GetMode(), a.GetValue(), a.GetFlags(), goes)
		return fmt.Sprintf("held %d %d", h.index, h.token)
	case !a.GetQueue():
		return "refused"
	case len(l.queue) >= orDefault(m.limits.GetWaitersMax(), 65_536):
		refuse("LIMIT_EXCEEDED")
	}
	m.needRoom(id)
	l.queue = append(slices.Clone(l.queue), modelWait{
		place: m.next(), session: id, owner: a.GetOwner(), mode: a.GetMode(), permits: a.GetPermits(),
		value: a.GetValue(), flags: a.GetFlags(), goes: goes,
	})
	if len(l.holds) == 0 && len(l.queue) == 1 {
		l.limit = a.GetLimit()
	}
	m.change(key, l)
	return fmt.Sprintf("waits %d", m.next())
}

func (m *model) release(r *storev1.ReleaseLock) string {
	ref := r.GetSession()
	if r.GetForce() {
		ref = &storev1.SessionRef{SessionId: ref.GetSessionId()}
	}
	id, _ := m.session(ref)
	key := r.GetKey()
	l := m.lock(key)
	h := l.own(id, r.GetOwner())
	if h == nil || r.GetLockIndex() != 0 && r.GetLockIndex() != h.index {
		return "false"
	}
	m.end(key, l, id, r.GetOwner(), false)
	switch op := r.GetValueOp().(type) {
	case *storev1.ReleaseLock_Put:
		m.put(key, op.Put, m.keys[key].flags, "")
	case *storev1.ReleaseLock_Delete:
		m.remove(key)
	}
	m.grantTouched()
	return "true"
}

func (m *model) resign(r *storev1.Resign) string {
	if len(r.GetToSessionId()) == 0 {
		return m.release(&storev1.ReleaseLock{
			Key: r.GetKey(), Session: r.GetSession(), Owner: r.GetOwner(), LockIndex: r.GetLockIndex(),
		})
	}
	id, _ := m.session(r.GetSession())
	l := m.lock(r.GetKey())
	h := l.own(id, r.GetOwner())
	if h == nil {
		return "false"
	}
	if h.mode != storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		refuse("LOCK_MODE_MISMATCH")
	}
	i := l.waits(string(r.GetToSessionId()), r.GetToOwner())
	if i < 0 {
		refuse("CANDIDATE_NOT_FOUND")
	}
	m.end(r.GetKey(), l, id, r.GetOwner(), false)
	m.grantPlace(r.GetKey(), l, i)
	m.grantTouched()
	return "true"
}
