package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// addLocks adds the messages of LockService.
func addLocks(t *Table) {
	addAcquire(t)
	set[*tenurev1.CancelWaitRequest](t,
		needs("key", func(v *visit, m *tenurev1.CancelWaitRequest) { v.key(m.GetKey(), Lock) }),
		needs("session_id", func(v *visit, m *tenurev1.CancelWaitRequest) { v.actAs(m.GetSessionId()) }),
		options(),
	)
	set[*tenurev1.ReleaseLockRequest](t,
		needs("key", func(v *visit, m *tenurev1.ReleaseLockRequest) {
			if m.GetOptions().GetForce() {
				v.key(m.GetKey(), Break)
				return
			}
			v.key(m.GetKey(), Lock)
		}),
		needs("session_id", func(v *visit, m *tenurev1.ReleaseLockRequest) {
			if !m.GetOptions().GetForce() {
				v.actAs(m.GetSessionId())
			}
		}),
		none("lock_index", "it says which hold is meant"),
		needs("put", func(v *visit, m *tenurev1.ReleaseLockRequest) {
			if _, given := m.GetValueOp().(*tenurev1.ReleaseLockRequest_Put); given {
				v.key(m.GetKey(), Write)
			}
		}),
		needs("delete", func(v *visit, m *tenurev1.ReleaseLockRequest) {
			if _, given := m.GetValueOp().(*tenurev1.ReleaseLockRequest_Delete); given {
				v.key(m.GetKey(), Write)
			}
		}),
		options(),
	)
	set[*tenurev1.GetLockRequest](t,
		needs("key", func(v *visit, m *tenurev1.GetLockRequest) { v.key(m.GetKey(), Read) }),
		read(),
	)
	set[*tenurev1.ListLocksRequest](t, with(page(),
		needs("prefix", func(v *visit, m *tenurev1.ListLocksRequest) {
			v.keys(m.GetPrefix(), List)
			v.keys(m.GetPrefix(), Read)
		}),
		needs("session_id", func(v *visit, m *tenurev1.ListLocksRequest) { v.session(m.GetSessionId(), Read) }),
		needs("held_by", func(v *visit, m *tenurev1.ListLocksRequest) {
			if m.GetHeldBy() != "" {
				v.add(Need{Kind: Session, Verb: Read, Match: Prefix, Text: m.GetHeldBy()})
			}
		}),
		none("waiting", "the lock itself shows it"),
		none("older_than", "the lock itself shows it"),
		read(),
	)...)
	set[*tenurev1.BreakLockRequest](t, with(
		nones("it says which holds of the lock are meant", "session_id", "owner", "break_token"),
		needs("key", func(v *visit, m *tenurev1.BreakLockRequest) { v.key(m.GetKey(), Break) }),
		none("reason", "it explains the break"),
		options(),
	)...)
	set[*tenurev1.CheckSequencerRequest](t,
		needs("sequencer", func(v *visit, m *tenurev1.CheckSequencerRequest) { part(v, m.GetSequencer()) }),
		needs("text", func(v *visit, m *tenurev1.CheckSequencerRequest) {
			if _, given := m.GetProof().(*tenurev1.CheckSequencerRequest_Text); given {
				v.sequencerText(m.GetText())
			}
		}),
	)
}

// addAcquire adds the two messages that take a lock.
func addAcquire(t *Table) {
	const how = "how the lock is taken or waited for"
	set[*tenurev1.AcquireLockRequest](t, with(nones(how, "mode", "permits", "limit", "wait", "leave_on_disconnect"),
		needs("key", func(v *visit, m *tenurev1.AcquireLockRequest) { v.key(m.GetKey(), Lock) }),
		needs("session_id", func(v *visit, m *tenurev1.AcquireLockRequest) {
			v.actAs(m.GetSessionId())
			v.deletes(m.GetKey(), m.GetSessionId())
		}),
		needs("value", func(v *visit, m *tenurev1.AcquireLockRequest) {
			if m.Value != nil {
				v.key(m.GetKey(), Write)
			}
		}),
		options(),
	)...)
	set[*tenurev1.TryAcquireLockRequest](t, with(nones(how, "mode", "permits", "limit", "wait"),
		needs("key", func(v *visit, m *tenurev1.TryAcquireLockRequest) { v.key(m.GetKey(), Lock) }),
		needs("session_id", func(v *visit, m *tenurev1.TryAcquireLockRequest) {
			v.actAs(m.GetSessionId())
			v.deletes(m.GetKey(), m.GetSessionId())
		}),
		needs("value", func(v *visit, m *tenurev1.TryAcquireLockRequest) {
			if m.Value != nil {
				v.key(m.GetKey(), Write)
			}
		}),
		options(),
	)...)
}

// addElections adds the messages of ElectionService.
func addElections(t *Table) {
	set[*tenurev1.CampaignRequest](t, with(nones("how the lock is waited for", "wait", "leave_on_disconnect"),
		needs("key", func(v *visit, m *tenurev1.CampaignRequest) { v.key(m.GetKey(), Lock) }),
		needs("session_id", func(v *visit, m *tenurev1.CampaignRequest) {
			v.actAs(m.GetSessionId())
			v.deletes(m.GetKey(), m.GetSessionId())
		}),
		needs("value", func(v *visit, m *tenurev1.CampaignRequest) {
			if _, given := m.GetContent().(*tenurev1.CampaignRequest_Value); given {
				v.key(m.GetKey(), Write)
			}
		}),
		needs("text", func(v *visit, m *tenurev1.CampaignRequest) {
			if _, given := m.GetContent().(*tenurev1.CampaignRequest_Text); given {
				v.key(m.GetKey(), Write)
			}
		}),
		options(),
	)...)
	set[*tenurev1.ProclaimRequest](t, with(nones("the content of a key that may be written", "value", "text"),
		needs("key", func(v *visit, m *tenurev1.ProclaimRequest) { v.key(m.GetKey(), Write) }),
		needs("sequencer", func(v *visit, m *tenurev1.ProclaimRequest) {
			v.actAs(m.GetSequencer().GetSessionId())
			if other := m.GetSequencer().GetKey(); other != m.GetKey() && other != "" {
				v.key(other, Write)
			}
		}),
		options(),
	)...)
	set[*tenurev1.ResignRequest](t, with(
		nones("they say which hold is given up, and to which owner in the session", "lock_index", "to_owner"),
		needs("key", func(v *visit, m *tenurev1.ResignRequest) { v.key(m.GetKey(), Lock) }),
		needs("to_session_id", func(v *visit, m *tenurev1.ResignRequest) {
			if m.GetToSessionId() != "" { // The answer says whether that session waits.
				v.key(m.GetKey(), Read)
			}
		}),
		needs("session_id", func(v *visit, m *tenurev1.ResignRequest) { v.actAs(m.GetSessionId()) }),
		options(),
	)...)
	set[*tenurev1.GetLeaderRequest](t,
		needs("key", func(v *visit, m *tenurev1.GetLeaderRequest) { v.key(m.GetKey(), Read) }),
		read(),
	)
	set[*tenurev1.ObserveRequest](t,
		needs("key", func(v *visit, m *tenurev1.ObserveRequest) {
			v.key(m.GetKey(), Read)
			v.key(m.GetKey(), Watch)
		}),
	)
}
