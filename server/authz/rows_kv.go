package authz

import (
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// addKeys adds the messages of KVService.
func addKeys(t *Table) {
	set[*tenurev1.GetRequest](t,
		needs("key", func(v *visit, m *tenurev1.GetRequest) { v.key(m.GetKey(), Read) }),
		read(),
		none("must_exist", "the answer says so anyway"),
	)
	set[*tenurev1.ListRequest](t, with(page(),
		needs("prefix", func(v *visit, m *tenurev1.ListRequest) { v.of(m, keysNeed(m.GetPrefix(), List)) }),
		needs("keys_only", func(v *visit, m *tenurev1.ListRequest) {
			if !m.GetKeysOnly() {
				v.of(m, keysNeed(m.GetPrefix(), Read))
			}
		}),
		read(),
		visible[*tenurev1.ListRequest](),
	)...)
	addPut(t)
	set[*tenurev1.DeleteRequest](t,
		needs("key", func(v *visit, m *tenurev1.DeleteRequest) { v.key(m.GetKey(), Write) }),
		none("if_revision", "a condition on a key that may be written"),
		needs("drop_holds", func(v *visit, m *tenurev1.DeleteRequest) {
			if m.GetDropHolds() {
				v.key(m.GetKey(), Lock)
			}
		}),
		options(),
	)
	set[*tenurev1.DeletePrefixRequest](t, with(nones("they only say how much of the prefix is meant", "all", "keys_max"),
		needs("prefix", func(v *visit, m *tenurev1.DeletePrefixRequest) {
			v.keys(m.GetPrefix(), Write)
			v.keys(m.GetPrefix(), List)
		}),
		needs("drop_holds", func(v *visit, m *tenurev1.DeletePrefixRequest) {
			if m.GetDropHolds() {
				v.keys(m.GetPrefix(), Lock)
			}
		}),
		options(),
	)...)
	addTxn(t)
}

// addPut adds the message that writes a key, and may take and give back its lock.
func addPut(t *Table) {
	set[*tenurev1.PutRequest](t, with(
		nones("the content of a key that may be written", "value", "text", "flags", "if_revision"),
		needs("key", func(v *visit, m *tenurev1.PutRequest) {
			if !m.GetSequential() {
				v.key(m.GetKey(), Write)
			}
		}),
		needs("sequential", func(v *visit, m *tenurev1.PutRequest) {
			if m.GetSequential() {
				v.keys(m.GetKey(), Write)
			}
		}),
		needs("acquire", func(v *visit, m *tenurev1.PutRequest) {
			if m.GetAcquire() != "" {
				v.key(m.GetKey(), Lock)
				v.actAs(m.GetAcquire())
			}
		}),
		needs("release", func(v *visit, m *tenurev1.PutRequest) {
			switch {
			case m.GetRelease() == "":
			case m.GetOptions().GetForce():
				v.key(m.GetKey(), Break)
			default:
				v.key(m.GetKey(), Lock)
				v.actAs(m.GetRelease())
			}
		}),
		needs("bind_session", func(v *visit, m *tenurev1.PutRequest) { v.actAs(m.GetBindSession()) }),
		options(),
	)...)
}

// addTxn adds transactions: what their branches and compares need, all of it.
func addTxn(t *Table) {
	set[*tenurev1.TxnRequest](t,
		needs("compares", func(v *visit, m *tenurev1.TxnRequest) {
			for _, c := range m.GetCompares() {
				v.message(c)
			}
		}),
		needs("then", func(v *visit, m *tenurev1.TxnRequest) { v.ops(m.GetThen()) }),
		needs("otherwise", func(v *visit, m *tenurev1.TxnRequest) { v.ops(m.GetOtherwise()) }),
		options(),
	)
	set[*tenurev1.Compare](t, with(
		nones("what the key is compared with; the key says what that needs",
			"operator", "value", "text", "mod_revision", "create_revision", "version", "flags", "held_by"),
		needs("key", func(v *visit, m *tenurev1.Compare) {
			if m.GetKey() != "" || m.GetGuard() == nil {
				v.key(m.GetKey(), Read)
			}
		}),
		needs("guard", func(v *visit, m *tenurev1.Compare) { part(v, m.GetGuard()) }),
	)...)
	set[*tenurev1.Op](t,
		needs("get", func(v *visit, m *tenurev1.Op) { part(v, m.GetGet()) }),
		needs("list", func(v *visit, m *tenurev1.Op) {
			v.whole = true // A transaction filters nothing, and its service refuses the wish.
			part(v, m.GetList())
			v.whole = false
		}),
		needs("put", func(v *visit, m *tenurev1.Op) { part(v, m.GetPut()) }),
		needs("delete", func(v *visit, m *tenurev1.Op) { part(v, m.GetDelete()) }),
		needs("delete_prefix", func(v *visit, m *tenurev1.Op) { part(v, m.GetDeletePrefix()) }),
		needs("acquire_lock", func(v *visit, m *tenurev1.Op) { part(v, m.GetAcquireLock()) }),
		needs("release_lock", func(v *visit, m *tenurev1.Op) { part(v, m.GetReleaseLock()) }),
		needs("check", func(v *visit, m *tenurev1.Op) { part(v, m.GetCheck()) }),
		needs("catalog", func(v *visit, m *tenurev1.Op) { part(v, m.GetCatalog()) }),
	)
}

// ops adds the needs of operations.
func (v *visit) ops(ops []*tenurev1.Op) {
	for _, op := range ops {
		v.message(op)
	}
}

// addOptions adds what any request may carry.
func addOptions(t *Table) {
	set[*tenurev1.CallOptions](t, with(
		nones("it says which of the session's users acts; the session says what that needs", "session_secret", "epoch", "owner"),
		needs("request_id", func(v *visit, m *tenurev1.CallOptions) { part(v, m.GetRequestId()) }),
		none("idempotency_key", "it names this request"),
		needs("guards", func(v *visit, m *tenurev1.CallOptions) {
			for _, g := range m.GetGuards() {
				v.message(g)
			}
		}),
		none("force", "the message that takes it says what it needs there"),
		none("reason", "it explains force"),
	)...)
	set[*tenurev1.RequestID](t, with(nones("they number the requests of the session", "sequence", "done_below"),
		needs("session_id", func(v *visit, m *tenurev1.RequestID) { v.actAs(m.GetSessionId()) }),
	)...)
	set[*tenurev1.Guard](t,
		needs("held", func(v *visit, m *tenurev1.Guard) {
			if s := m.GetHeld(); s != nil {
				v.add(Need{Kind: Key, Verb: Read, Or: Lock, Match: Exact, Text: s.GetKey()})
			}
		}),
		needs("session_alive", func(v *visit, m *tenurev1.Guard) { v.session(m.GetSessionAlive(), Read) }),
		needs("key", func(v *visit, m *tenurev1.Guard) { part(v, m.GetKey()) }),
	)
	set[*tenurev1.KeyCondition](t, with(
		nones("what the key is compared with; the key says what that needs",
			"exists", "mod_revision", "create_revision", "version", "held_by"),
		needs("key", func(v *visit, m *tenurev1.KeyCondition) { v.key(m.GetKey(), Read) }),
	)...)
	set[*tenurev1.Sequencer](t, with(
		nones("the proof of a hold, which the key shows", "lock_index", "session_id", "fencing_token", "history_id"),
		needs("key", func(v *visit, m *tenurev1.Sequencer) { v.key(m.GetKey(), Read) }),
	)...)
}

// sequencerText adds the need of a sequencer in text. One that cannot be read is refused elsewhere; here it needs everything.
func (v *visit) sequencerText(text string) {
	s, err := sequencer.Parse(text)
	if err != nil {
		v.keys("", Read)
		return
	}
	v.message(s)
}
