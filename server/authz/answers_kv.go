package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// showKeys adds the answers of KVService.
func showKeys(a *Answers) {
	tell(a, func(v *view, m *tenurev1.KeyValue) {
		if v.reads(m.GetKey()) {
			return
		}
		v.hide(len(m.GetValue()) > 0, func() { m.Value = nil })
		v.hide(m.GetFlags() != 0, func() { m.Flags = 0 })
		v.hide(m.GetCreateRevision() != 0, func() { m.CreateRevision = 0 })
		v.hide(m.GetModRevision() != 0 && m.GetModRevision() != v.revision(), func() { m.ModRevision = 0 })
		v.hide(m.GetVersion() != 0, func() { m.Version = 0 })
		v.hide(m.GetLockIndex() != 0, func() { m.LockIndex = 0 })
		v.hide(m.GetSessionId() != "", func() { m.SessionId = "" })
		v.hide(m.GetBoundSessionId() != "", func() { m.BoundSessionId = "" })
		v.hide(m.GetCreateTime() != nil, func() { m.CreateTime = nil })
		v.hide(m.GetModTime() != nil, func() { m.ModTime = nil })
	}, decided("value", "flags", "create_revision", "mod_revision", "version", "lock_index", "session_id", "bound_session_id",
		"create_time", "mod_time"),
		shown("the request names it, or may list it, or made it", "key"))
	tell(a, func(v *view, m *tenurev1.GetResponse) { part(v, m.GetKv()) }, head(), decided("kv"))
	tell(a, func(v *view, m *tenurev1.ListResponse) { all(v, m.GetKvs()) }, head(), decided("kvs"), nextPage())
	tell(a, func(v *view, m *tenurev1.PutResponse) {
		part(v, m.GetKv())
		part(v, m.GetSequencer())
		part(v, m.GetLock())
	}, head(), decided("kv", "sequencer", "lock"), shown("what the call itself did", "acquired", "released"))
	tell[*tenurev1.DeleteResponse](a, nil, head(), shown("what the call itself did", "deleted"))
	tell[*tenurev1.DeletePrefixResponse](a, nil, head(), shown("what the call itself did", "deleted"))
}

// showTxn adds the answers of transactions.
func showTxn(a *Answers) {
	tell(a, func(v *view, m *tenurev1.TxnResponse) { all(v, m.GetResponses()) }, head(), decided("responses"),
		shown("all that is compared may be read", "succeeded"))
	tell(a, func(v *view, m *tenurev1.OpResponse) {
		part(v, m.GetGet())
		part(v, m.GetList())
		part(v, m.GetPut())
		part(v, m.GetDelete())
		part(v, m.GetDeletePrefix())
		part(v, m.GetAcquireLock())
		part(v, m.GetReleaseLock())
		part(v, m.GetCatalog())
	}, decided("get", "list", "put", "delete", "delete_prefix", "acquire_lock", "release_lock", "catalog"))
}
