package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// showLocks adds the answers of LockService, but those to calls that wait.
func showLocks(a *Answers) {
	const did = "what the call itself did"
	tell(a, (*view).lock, shown("the request names it, or may list it", "key"),
		decided("mode", "limit", "lock_index", "holds", "places", "delayed", "holders", "waiters", "delayed_holds", "past", "frozen"))
	tell[*tenurev1.PastHold](a, nil, shown("a lock shows it only to callers that may read its key",
		"session_id", "session_name", "owner", "lock_index", "fencing_token", "cause", "reason", "grant_time", "end_time"))
	tell(a, func(v *view, m *tenurev1.TryAcquireLockResponse) {
		part(v, m.GetHold())
		part(v, m.GetLock())
	}, head(), decided("hold", "lock"), shown(did, "acquired"))
	tell(a, func(v *view, m *tenurev1.CancelWaitResponse) { part(v, m.GetHold()) }, head(), decided("hold"), shown(did, "cancelled"))
	tell(a, func(v *view, m *tenurev1.ReleaseLockResponse) { part(v, m.GetLock()) }, head(), decided("lock"),
		shown(did, "released", "granted"))
	tell(a, func(v *view, m *tenurev1.GetLockResponse) {
		part(v, m.GetLock())
		all(v, m.GetSessions())
	}, head(), decided("lock", "sessions"))
	tell(a, func(v *view, m *tenurev1.ListLocksResponse) { all(v, m.GetLocks()) }, head(), decided("locks"), nextPage())
	tell[*tenurev1.BreakLockResponse](a, nil, head(), shown(did, "holds", "places", "remaining", "break_token"))
	tell(a, func(v *view, m *tenurev1.CheckSequencerResponse) { part(v, m.GetLock()) }, head(), decided("lock"),
		shown("a sequencer is checked only for callers that may read its key", "holds"))
}

// lock looks at a lock. Callers that may lock the key and not read it see how it is used, who holds it, and what is their own.
func (v *view) lock(m *tenurev1.Lock) {
	if v.reads(m.GetKey()) {
		return
	}
	locks := v.locks(m.GetKey())
	if !locks {
		v.hide(m.GetMode() != 0, func() { m.Mode = 0 })
		v.hide(m.GetLimit() != 0, func() { m.Limit = 0 })
		v.hide(m.GetFrozen(), func() { m.Frozen = false })
	}
	v.hide(m.GetLockIndex() != 0, func() { m.LockIndex = 0 })
	keep(v, &m.Holds, func(*tenurev1.Hold) bool { return locks })
	all(v, m.GetHolds())
	own := func(h *tenurev1.Hold) bool { return locks && v.acts(h.GetSequencer().GetSessionId()) }
	keep(v, &m.Delayed, own)
	keep(v, &m.Places, func(p *tenurev1.Place) bool { return locks && v.acts(p.GetSessionId()) })
	v.hide(m.GetHolders() != 0, func() { m.Holders = 0 })
	v.hide(m.GetWaiters() != 0, func() { m.Waiters = 0 })
	v.hide(m.GetDelayedHolds() != 0, func() { m.DelayedHolds = 0 })
	keep(v, &m.Past, func(*tenurev1.PastHold) bool { return false })
}

// showHolds adds what holds and places are.
func showHolds(a *Answers) {
	tell(a, func(v *view, m *tenurev1.Hold) {
		key, session := m.GetSequencer().GetKey(), m.GetSequencer().GetSessionId()
		if v.reads(key) || v.locks(key) && v.acts(session) {
			return
		}
		v.hide(m.GetOwner() != "", func() { m.Owner = "" })
		v.hide(m.GetMode() != 0, func() { m.Mode = 0 })
		v.hide(m.GetPermits() != 0, func() { m.Permits = 0 })
		v.hide(m.GetGrantTime() != nil, func() { m.GrantTime = nil })
		v.hide(m.GetDelayLeft() != nil, func() { m.DelayLeft = nil })
		v.hide(m.GetLostTime() != nil, func() { m.LostTime = nil })
		if v.locks(key) {
			part(v, m.GetSequencer())
			return
		}
		v.hide(m.GetSessionName() != "", func() { m.SessionName = "" })
		v.hide(m.GetSequencer() != nil, func() { m.Sequencer = nil })
	}, decided("sequencer", "owner", "mode", "permits", "grant_time", "session_name", "delay_left", "lost_time"))
	tell(a, func(v *view, m *tenurev1.Sequencer) {
		if v.reads(m.GetKey()) || v.locks(m.GetKey()) && v.acts(m.GetSessionId()) {
			return
		}
		v.hide(m.GetLockIndex() != 0, func() { m.LockIndex = 0 })
		v.hide(m.GetFencingToken() != 0, func() { m.FencingToken = 0 })
		v.hide(m.GetHistoryId() != "", func() { m.HistoryId = "" })
		if !v.locks(m.GetKey()) {
			v.hide(m.GetKey() != "", func() { m.Key = "" })
			v.hide(m.GetSessionId() != "", func() { m.SessionId = "" })
		}
	}, decided("key", "lock_index", "session_id", "fencing_token", "history_id"))
	tell(a, func(v *view, m *tenurev1.Place) {
		if v.seesPlace(m) {
			return
		}
		v.hide(m.GetKey() != "", func() { m.Key = "" })
		v.hide(m.GetPlace() != 0, func() { m.Place = 0 })
		v.hide(m.GetPosition() != 0, func() { m.Position = 0 })
		v.hide(m.GetSessionId() != "", func() { m.SessionId = "" })
		v.hide(m.GetSessionName() != "", func() { m.SessionName = "" })
		v.hide(m.GetOwner() != "", func() { m.Owner = "" })
		v.hide(m.GetMode() != 0, func() { m.Mode = 0 })
		v.hide(m.GetPermits() != 0, func() { m.Permits = 0 })
		v.hide(m.GetQueueTime() != nil, func() { m.QueueTime = nil })
	}, decided("key", "place", "position", "session_id", "session_name", "owner", "mode", "permits", "queue_time"))
}

// seesPlace reports whether a place may be shown.
func (v *view) seesPlace(m *tenurev1.Place) bool {
	return v.reads(m.GetKey()) || v.locks(m.GetKey()) && v.acts(m.GetSessionId())
}

// showWaits adds the answers to calls that wait.
func showWaits(a *Answers) {
	tell(a, func(v *view, m *tenurev1.AcquireLockResponse) {
		part(v, m.GetQueued())
		part(v, m.GetGranted())
		part(v, m.GetRejected())
	}, head(), decided("queued", "granted", "rejected"), shown("one's own position", "moved"))
	tell(a, func(v *view, m *tenurev1.LockQueuedStep) {
		part(v, m.GetPlace())
		part(v, m.GetLock())
	}, decided("place", "lock"))
	tell(a, func(v *view, m *tenurev1.LockRejectedStep) { part(v, m.GetLock()) }, decided("lock"),
		shown("why one's own wait ended", "cause", "reason"))
}

// showElections adds the answers of ElectionService.
func showElections(a *Answers) {
	tell(a, func(v *view, m *tenurev1.CampaignResponse) {
		part(v, m.GetQueued())
		part(v, m.GetElected())
		part(v, m.GetRejected())
	}, head(), decided("queued", "elected", "rejected"), shown("one's own position", "moved"))
	tell[*tenurev1.ProclaimResponse](a, nil, head())
	tell[*tenurev1.ResignResponse](a, nil, head(), shown("what the call itself did", "resigned"))
	tell(a, func(v *view, m *tenurev1.GetLeaderResponse) { part(v, m.GetLeader()) }, head(), decided("leader"))
	tell(a, func(v *view, m *tenurev1.ObserveResponse) { part(v, m.GetLeader()) }, head(), decided("leader"),
		shown("that the stream missed something", "gap"))
	tell[*tenurev1.Leader](a, nil,
		shown("only callers that may read the key get it", "hold", "value", "since", "candidates"))
}
