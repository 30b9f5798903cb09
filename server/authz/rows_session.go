package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// addSessions adds the messages of SessionService.
func addSessions(t *Table) {
	set[*tenurev1.CreateSessionRequest](t, with(
		nones("how the new session is, and who may act as it",
			"metadata", "ttl", "lock_delay", "behavior", "secret", "want_secret", "instance_id"),
		needs("name", func(v *visit, m *tenurev1.CreateSessionRequest) {
			v.add(Need{Kind: Session, Verb: Write, Match: Exact, Text: m.GetName(), Node: lowerASCII(m.GetNode())})
		}),
		none("node", "the need of the name has it: a rule for either will do. Whether there is such a node the answer says only to who may know"),
		needs("checks", func(v *visit, m *tenurev1.CreateSessionRequest) { v.bound(m.GetNode(), m.GetChecks()) }),
		options(),
	)...)
	set[*tenurev1.SessionChecks](t, nones("the session that they are of has their needs, as it has the node", "node_checks", "service_checks")...)
	set[*tenurev1.RenewSessionRequest](t,
		needs("session_id", func(v *visit, m *tenurev1.RenewSessionRequest) { v.actAs(m.GetSessionId()) }),
		options(),
	)
	set[*tenurev1.KeepAliveRequest](t,
		needs("renewals", func(v *visit, m *tenurev1.KeepAliveRequest) {
			for _, r := range m.GetRenewals() {
				v.message(r)
			}
		}),
	)
	set[*tenurev1.SessionRenewal](t, with(nones("they say which user renews, and number the renewals", "epoch", "number", "secret"),
		needs("session_id", func(v *visit, m *tenurev1.SessionRenewal) { v.actAs(m.GetSessionId()) }),
	)...)
	set[*tenurev1.AttachSessionRequest](t, with(
		nones("they say which process attaches, and what it has seen", "instance_id", "attempt", "take_over", "page_token"),
		needs("session_id", func(v *visit, m *tenurev1.AttachSessionRequest) { v.actAs(m.GetSessionId()) }),
		options(),
	)...)
	set[*tenurev1.DestroySessionRequest](t, with(nones("how it ends", "clean", "reason"),
		needs("session_id", func(v *visit, m *tenurev1.DestroySessionRequest) {
			if !m.GetForce() && !m.GetOptions().GetForce() {
				v.actAs(m.GetSessionId())
			}
		}),
		needs("force", func(v *visit, m *tenurev1.DestroySessionRequest) {
			if m.GetForce() || m.GetOptions().GetForce() {
				v.session(m.GetSessionId(), Break)
			}
		}),
		options(),
	)...)
	set[*tenurev1.GetSessionRequest](t,
		needs("session_id", func(v *visit, m *tenurev1.GetSessionRequest) { v.session(m.GetSessionId(), Read) }),
		read(),
		none("page_token", "the next part of the same session"),
	)
	set[*tenurev1.ListSessionsRequest](t, with(append(page(), nones("the session itself shows it", "no_ttl", "older_than")...),
		needs("name_prefix", func(v *visit, m *tenurev1.ListSessionsRequest) {
			v.of(m, Need{
				Kind: Session, Verb: Read, Match: Prefix, Text: m.GetNamePrefix(), Node: lowerASCII(m.GetNode()), Maker: onlyOne(m.GetPrincipals()),
			})
		}),
		none("node", "the need of the prefix has it: a rule for either will do"),
		needs("principals", func(v *visit, m *tenurev1.ListSessionsRequest) {
			for _, principal := range m.GetPrincipals() {
				v.add(Need{Kind: Admin, Verb: Read, Maker: principal})
			}
		}),
		read(),
		visible[*tenurev1.ListSessionsRequest](),
	)...)
}

// onlyOne returns the principal of a list that has one and no other.
func onlyOne(principals []string) string {
	if len(principals) != 1 {
		return ""
	}
	return principals[0]
}

// bound adds what is needed to bind a session to checks that are named: whether they are there, and critical, is told. Without a node the session
// is refused, and without a name it has the check that its node has by default.
func (v *visit) bound(node string, checks *tenurev1.SessionChecks) {
	if node == "" || len(checks.GetNodeChecks())+len(checks.GetServiceChecks()) == 0 {
		return
	}
	v.nodeNamed(node, Read)
	for _, ids := range [][]string{checks.GetNodeChecks(), checks.GetServiceChecks()} {
		for _, id := range ids {
			v.check(node, id, Read)
		}
	}
}

// addWatches adds the message of WatchService.
func addWatches(t *Table) {
	set[*tenurev1.WatchRequest](t, with(
		nones("where a watch starts and ends, and what it leaves out",
			"filter", "after_revision", "history_id", "resume_token", "initial", "previous", "keys_only", "limit", "wait", "progress_interval"),
		needs("", func(v *visit, m *tenurev1.WatchRequest) {
			if selectsNothing(m) {
				v.watchedPrefix(m, "")
			}
		}),
		needs("keys", func(v *visit, m *tenurev1.WatchRequest) { v.watchedKeys(m.GetKeys()) }),
		needs("prefixes", func(v *visit, m *tenurev1.WatchRequest) {
			for _, prefix := range m.GetPrefixes() {
				v.watchedPrefix(m, prefix)
			}
		}),
		none("range_start", "the need of the range's end has it"),
		needs("range_end", func(v *visit, m *tenurev1.WatchRequest) {
			if m.GetRangeStart() == "" && m.GetRangeEnd() == "" {
				return
			}
			for _, verb := range []Verb{Read, Watch, List} {
				v.of(m, Need{Kind: Key, Verb: verb, Match: Range, Text: m.GetRangeStart(), End: m.GetRangeEnd()})
			}
		}),
		needs("locks", func(v *visit, m *tenurev1.WatchRequest) { v.watchedKeys(m.GetLocks()) }),
		needs("lock_prefixes", func(v *visit, m *tenurev1.WatchRequest) {
			for _, prefix := range m.GetLockPrefixes() {
				v.watchedPrefix(m, prefix)
			}
		}),
		needs("session_ids", func(v *visit, m *tenurev1.WatchRequest) {
			for _, id := range m.GetSessionIds() {
				v.session(id, Read)
			}
		}),
		needs("all_sessions", func(v *visit, m *tenurev1.WatchRequest) {
			if m.GetAllSessions() {
				v.of(m, Need{Kind: Session, Verb: Read, Match: Prefix})
			}
		}),
		needs("nodes", func(v *visit, m *tenurev1.WatchRequest) {
			for _, name := range m.GetNodes() {
				v.nodeAndServices(m, name)
			}
		}),
		needs("services", func(v *visit, m *tenurev1.WatchRequest) {
			for _, name := range m.GetServices() {
				v.serviceAndNodes(m, name)
			}
		}),
		needs("all_nodes", func(v *visit, m *tenurev1.WatchRequest) {
			if m.GetAllNodes() {
				v.nodeAndServices(m, "")
			}
		}),
		needs("all_services", func(v *visit, m *tenurev1.WatchRequest) {
			if m.GetAllServices() {
				v.serviceAndNodes(m, "")
			}
		}),
		needs("all_queries", func(v *visit, m *tenurev1.WatchRequest) {
			if m.GetAllQueries() {
				v.of(m, Need{Kind: Query, Verb: Read, Match: Prefix})
			}
		}),
		visible[*tenurev1.WatchRequest](),
	)...)
}

// selectsNothing reports whether a watch has no selector, and so means every key.
func selectsNothing(m *tenurev1.WatchRequest) bool {
	return len(m.GetKeys())+len(m.GetPrefixes())+len(m.GetLocks())+len(m.GetLockPrefixes())+
		len(m.GetSessionIds())+len(m.GetNodes())+len(m.GetServices()) == 0 &&
		m.GetRangeStart() == "" && m.GetRangeEnd() == "" && !m.GetAllSessions() && !m.GetAllNodes() && !m.GetAllServices() &&
		!m.GetAllQueries()
}

// watchedKeys adds what a watch of keys or of their locks needs.
func (v *visit) watchedKeys(keys []string) {
	for _, key := range keys {
		v.key(key, Read)
		v.key(key, Watch)
	}
}

// watchedPrefix adds what a watch of all keys with a prefix, or of their locks, needs.
func (v *visit) watchedPrefix(m selective, prefix string) {
	v.of(m, keysNeed(prefix, Read))
	v.of(m, keysNeed(prefix, Watch))
	v.of(m, keysNeed(prefix, List))
}
