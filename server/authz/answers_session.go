package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// showSessions adds the answers of SessionService.
func showSessions(a *Answers) {
	const own = "it is about a session that the caller made or acts as"
	tell(a, func(v *view, m *tenurev1.CreateSessionResponse) {
		node := v.viewer.Node()
		v.hide(node != "" && !v.seesBound(node), func() { m.NodeId, m.Checks = "", nil })
	}, head(), decided("node_id", "checks"), shown(own, "session_id", "ttl", "lock_delay", "secret", "epoch",
		"create_revision", "keepalive_interval"))
	tell(a, func(v *view, m *tenurev1.RenewSessionResponse) { part(v, m.GetSession()) }, head(), decided("session"))
	tell(a, func(v *view, m *tenurev1.KeepAliveResponse) {
		v.own = true // A stream gets hints about the sessions that it renews, and about no other.
		keep(v, &m.Hints, func(h *tenurev1.SessionHint) bool {
			key := h.GetGranted().GetSequencer().GetKey() + h.GetLost().GetSequencer().GetKey() + h.GetContended().GetSequencer().GetKey()
			return v.reads(key) || v.locks(key)
		})
		all(v, m.GetHints())
	}, head(), decided("hints"), shown(own, "verdicts"))
	tell(a, func(v *view, m *tenurev1.SessionHint) {
		part(v, m.GetGranted())
		part(v, m.GetLost())
		part(v, m.GetContended())
	}, decided("granted", "lost", "contended"), shown(own, "session_id"))
	tell(a, func(v *view, m *tenurev1.AttachSessionResponse) {
		part(v, m.GetSession())
		v.besideSession(&m.Holds, &m.Places)
	}, head(), decided("session", "holds", "places"), shown(own, "max_sequence"), nextPage())
	tell[*tenurev1.DestroySessionResponse](a, nil, head(), shown("what the call itself did", "destroyed", "holds"))
	tell(a, func(v *view, m *tenurev1.GetSessionResponse) {
		part(v, m.GetSession())
		v.besideSession(&m.Holds, &m.Places)
	}, head(), decided("session", "holds", "places"), nextPage())
	tell(a, func(v *view, m *tenurev1.ListSessionsResponse) { all(v, m.GetSessions()) }, head(), decided("sessions"), nextPage())
	tell(a, (*view).session,
		shown("a caller that sees a hold sees its session's id and name", "session_id", "name"),
		decided("node", "metadata", "ttl", "lock_delay", "behavior", "has_secret", "peer_address", "epoch", "create_revision", "create_time",
			"objects", "ttl_left", "last_renewal_time", "end", "node_id", "checks"))
	tell[*tenurev1.SessionChecks](a, nil, shown("a session shows it only to callers that may read the session", "node_checks", "service_checks"))
	tell(a, func(v *view, m *tenurev1.SessionEnd) {
		v.hide(m.GetBy() != "" && !v.viewer.Covers(Need{Kind: Operator, Verb: Read}), func() { m.By = "" })
		keep(v, &m.HeldKeys, func(key string) bool { return v.reads(key) || v.locks(key) })
	}, decided("by", "held_keys"), shown("a session shows it only to callers that may read the session",
		"cause", "reason", "revision", "time", "holds", "places", "ephemeral_keys", "clean"))
}

// besideSession looks at the holds and places of a session: those whose keys the caller may neither read nor lock are left out.
func (v *view) besideSession(holds *[]*tenurev1.Hold, places *[]*tenurev1.Place) {
	keep(v, holds, func(h *tenurev1.Hold) bool {
		return v.reads(h.GetSequencer().GetKey()) || v.locks(h.GetSequencer().GetKey())
	})
	all(v, *holds)
	keep(v, places, v.seesPlace)
}

// seesBound reports whether the viewer may know whether sessions with a node are bound to it, and to which checks: they are only if there is such a
// node. Where it may not, one is counted as hidden in any case.
func (v *view) seesBound(node string) bool {
	name := lowerASCII(node)
	return v.viewer.Covers(Need{Kind: Node, Verb: Read, Match: Exact, Text: name}) ||
		v.viewer.Covers(Need{Kind: SessionNode, Verb: Read, Match: Exact, Text: name})
}

// session looks at a session.
func (v *view) session(m *tenurev1.Session) {
	need := Need{Kind: Session, Verb: Read, Match: Exact, Text: m.GetName(), Node: lowerASCII(m.GetNode())}
	if v.viewer.Covers(need) || v.viewer.Reads(m.GetSessionId()) {
		v.hide(m.GetNode() != "" && !v.seesBound(m.GetNode()), func() { m.NodeId, m.Checks = "", nil })
		part(v, m.GetEnd())
		return
	}
	v.hide(m.GetNode() != "", func() { m.Node = "" })
	v.hide(len(m.GetMetadata()) > 0, func() { m.Metadata = nil })
	v.hide(m.GetTtl() != nil, func() { m.Ttl = nil })
	v.hide(m.GetLockDelay() != nil, func() { m.LockDelay = nil })
	v.hide(m.GetBehavior() != 0, func() { m.Behavior = 0 })
	v.hide(m.GetHasSecret(), func() { m.HasSecret = false })
	v.hide(m.GetPeerAddress() != "", func() { m.PeerAddress = "" })
	v.hide(m.GetEpoch() != 0, func() { m.Epoch = 0 })
	v.hide(m.GetCreateRevision() != 0, func() { m.CreateRevision = 0 })
	v.hide(m.GetCreateTime() != nil, func() { m.CreateTime = nil })
	v.hide(m.GetObjects() != 0, func() { m.Objects = 0 })
	v.hide(m.GetTtlLeft() != nil, func() { m.TtlLeft = nil })
	v.hide(m.GetLastRenewalTime() != nil, func() { m.LastRenewalTime = nil })
	v.hide(m.GetEnd() != nil, func() { m.End = nil })
	v.hide(m.GetNodeId() != "", func() { m.NodeId = "" })
	v.hide(m.GetChecks() != nil, func() { m.Checks = nil })
}

// showWatches adds the answers of WatchService. A watch is refused that does not cover all that it selects.
func showWatches(a *Answers) {
	const covered = "a watch is refused that may not read all that it selects"
	tell(a, func(v *view, m *tenurev1.WatchResponse) { part(v, m.GetInitial()) }, head(), decided("initial"),
		shown("how far the watch came", "resume_token", "started", "progress"),
		shown(covered+"; ends of sessions name neither keys nor addresses there; what leaves a service is shown as it is then", "events"))
	tell(a, func(v *view, m *tenurev1.WatchInitial) { all(v, m.GetSessions()) }, decided("sessions"),
		shown(covered, "kvs", "locks", "complete", "nodes", "services", "checks", "queries"))
}
