package storage_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// catalogModel says what the catalog holds, and which sessions live, by simpler rules than the store's.
type catalogModel struct {
	nodes map[string]*modelNode
	bound map[uint64][]string // what a session is bound to: node, or node/check
	dead  map[uint64]bool
	made  map[uint64]bool // sessions
	// queries are prepared queries by their ids; those of sessions that have ended are still among them.
	queries map[string]*storev1.Query
}

// modelNode is a node of the model.
type modelNode struct {
	id       string
	boot     uint64 // of the last sync; its number is always 1
	services map[string]modelEntry
	checks   map[string]modelEntry
}

// modelEntry is a service, or a check of one.
type modelEntry struct {
	of     string // service of a check
	status storev1.CheckStatus
	origin storev1.CatalogOrigin
}

// end ends the sessions that are bound to something.
func (m *catalogModel) end(what string) {
	for s, bound := range m.bound {
		m.dead[s] = m.dead[s] || slices.Contains(bound, what)
	}
}

func (m *catalogModel) dropCheck(node, id string) {
	delete(m.nodes[node].checks, id)
	m.end(node + "/" + id)
}

// dropService drops an instance with its checks but those that are put after it.
func (m *catalogModel) dropService(node, id string, puts ...*storev1.Check) {
	for check, e := range m.nodes[node].checks {
		if e.of == id && !slices.ContainsFunc(puts, func(k *storev1.Check) bool { return k.GetCheckId() == check }) {
			m.dropCheck(node, check)
		}
	}
	delete(m.nodes[node].services, id)
}

func (m *catalogModel) empty(node string) {
	for id := range m.nodes[node].checks {
		m.dropCheck(node, id)
	}
	clear(m.nodes[node].services)
}

func (m *catalogModel) dropNode(node string) {
	m.empty(node)
	delete(m.nodes, node)
	m.end(node)
}

// ownedBy returns who an entry belongs to after a write.
func ownedBy(before modelEntry, by storev1.CatalogOrigin) storev1.CatalogOrigin {
	if before.origin == byPool || before.origin == byAgent && by != byAgent {
		if by != byAgent {
			return before.origin
		}
	}
	return by
}

func (m *catalogModel) putCheck(node string, k *storev1.Check, by storev1.CatalogOrigin) {
	n := m.nodes[node]
	before, there := n.checks[k.GetCheckId()]
	if there && by == byPool && before.origin != byPool {
		return
	}
	status := k.GetStatus()
	if status == 0 {
		status = isCritical
		if there {
			status = before.status
		}
	}
	n.checks[k.GetCheckId()] = modelEntry{of: k.GetServiceId(), status: status, origin: ownedBy(before, by)}
	if status == isCritical {
		m.end(node + "/" + k.GetCheckId())
	}
}

func (m *catalogModel) put(node string, services []*storev1.Service, checks []*storev1.Check, by storev1.CatalogOrigin) {
	for _, s := range services {
		n := m.nodes[node]
		n.services[s.GetServiceId()] = modelEntry{of: s.GetName(), origin: ownedBy(n.services[s.GetServiceId()], by)}
	}
	for _, k := range checks {
		m.putCheck(node, k, by)
	}
}

// putNode writes a node whose id is known. One in doubt keeps all it has, if the pool says that its machine has another id.
func (m *catalogModel) putNode(name, id string, poolSays bool) {
	for other, n := range m.nodes {
		if n.id == id && other != name {
			m.dropNode(other)
		}
	}
	n := m.nodes[name]
	switch {
	case n == nil:
		m.nodes[name] = &modelNode{id: id, services: map[string]modelEntry{}, checks: map[string]modelEntry{}}
	case n.id != id:
		if k := n.checks["liveness"]; !poolSays || k.origin != byPool || k.status != storev1.CheckStatus_CHECK_STATUS_WARNING {
			m.empty(name)
		}
		n.id, n.boot = id, 0
	}
}

func (m *catalogModel) byID(id []byte) string {
	for name, n := range m.nodes {
		if n.id == string(id) {
			return name
		}
	}
	return ""
}

// drop deletes what a name says.
func (m *catalogModel) drop(name *storev1.CatalogName) {
	n := m.nodes[storage.NodeKey(name.GetNode())]
	if n == nil {
		return
	}
	key := storage.NodeKey(name.GetNode())
	switch {
	case name.GetServiceId() != "":
		if _, there := n.services[name.GetServiceId()]; there {
			m.dropService(key, name.GetServiceId())
		}
	case name.GetCheckId() != "":
		if _, there := n.checks[name.GetCheckId()]; there {
			m.dropCheck(key, name.GetCheckId())
		}
	default:
		m.dropNode(key)
	}
}

// apply does what a command did that was not refused.
func (m *catalogModel) apply(cmd *storev1.Command, r *storev1.Result) {
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_RegisterNode:
		k := kind.RegisterNode
		key, by := storage.NodeKey(k.GetNode().GetName()), direct
		if k.GetOrigin() == byPool {
			by = byPool
		}
		// A registration that leaves nodes as they are still replaces another machine.
		id := string(k.GetNode().GetNodeId())
		if m.nodes[key] == nil || !k.GetSkipNodeUpdate() || id != "" && id != m.nodes[key].id {
			m.putNode(key, string(r.GetCatalog().GetNodeId()), by == byPool && !k.GetSkipNodeUpdate())
		}
		m.put(key, k.GetServices(), k.GetChecks(), by)
	case *storev1.Command_SyncNode:
		k := kind.SyncNode
		if k.GetNode() != nil {
			m.putNode(storage.NodeKey(k.GetNode().GetName()), string(k.GetNodeId()), false)
		}
		key := m.byID(k.GetNodeId())
		n := m.nodes[key]
		n.boot = k.GetSync().GetBoot()
		for _, id := range k.GetDeleteChecks() {
			if e, there := n.checks[id]; there && e.origin == byAgent {
				m.dropCheck(key, id)
			}
		}
		for _, id := range k.GetDeleteServices() {
			if e, there := n.services[id]; there && e.origin == byAgent {
				m.dropService(key, id, k.GetChecks()...)
			}
		}
		m.put(key, k.GetServices(), k.GetChecks(), byAgent)
	case *storev1.Command_UpdateCheck:
		m.setStatus(storage.NodeKey(kind.UpdateCheck.GetNode()), kind.UpdateCheck.GetCheckId(), kind.UpdateCheck.GetStatus())
	case *storev1.Command_SetLiveness:
		key := m.byID(kind.SetLiveness.GetNodeId())
		if key == "" || kind.SetLiveness.GetTerm() != 1 {
			return
		}
		if e, there := m.nodes[key].checks["liveness"]; there && e.origin != byPool {
			return
		}
		m.putCheck(key, &storev1.Check{CheckId: "liveness", Status: kind.SetLiveness.GetStatus()}, byPool)
	case *storev1.Command_Deregister:
		m.drop(kind.Deregister.GetName())
	case *storev1.Command_Txn:
		for _, op := range kind.Txn.GetThenOps() {
			m.applyOp(op.GetCatalog())
		}
	case *storev1.Command_CreateSession:
		created := r.GetCreateSession()
		m.made[numberOf(kind.CreateSession.GetSessionId())] = true
		if len(created.GetNodeId()) == 0 {
			return
		}
		key := storage.NodeKey(kind.CreateSession.GetNode())
		bound := []string{key}
		for _, id := range slices.Concat(created.GetNodeChecks(), created.GetServiceChecks()) {
			bound = append(bound, key+"/"+id)
		}
		m.bound[numberOf(kind.CreateSession.GetSessionId())] = bound
	case *storev1.Command_PutQuery:
		m.queries[string(kind.PutQuery.GetQueryId())] = kind.PutQuery.GetQuery()
	case *storev1.Command_DeleteQuery:
		delete(m.queries, string(kind.DeleteQuery.GetQueryId()))
	case *storev1.Command_DestroySession:
		m.dead[numberOf(kind.DestroySession.GetSession().GetSessionId())] = true
	}
}

func (m *catalogModel) setStatus(node, id string, status storev1.CheckStatus) {
	e := m.nodes[node].checks[id]
	e.status = status
	m.nodes[node].checks[id] = e
	if status == isCritical {
		m.end(node + "/" + id)
	}
}

func (m *catalogModel) applyOp(op *storev1.CatalogOp) {
	switch kind := op.GetKind().(type) {
	case *storev1.CatalogOp_Delete:
		m.drop(kind.Delete)
	case *storev1.CatalogOp_PutCheck:
		m.putCheck(storage.NodeKey(kind.PutCheck.GetNode()), kind.PutCheck.GetCheck(), direct)
	}
}

func numberOf(id []byte) uint64 { return uint64(id[14])<<8 | uint64(id[15]) }

// dropQueries drops the queries of sessions that have ended in the store. One that is only marked still has its own.
func (m *catalogModel) dropQueries(r *storage.Reader) error {
	for id, q := range m.queries {
		if len(q.GetSessionId()) == 0 {
			continue
		}
		_, lives, err := r.Session(storage.SessionID(q.GetSessionId()))
		if err != nil {
			return err
		}
		if !lives {
			delete(m.queries, id)
		}
	}
	return nil
}

// refusal says why a prepared query is not written; unspecified if it is.
func (m *catalogModel) refusal(p *storev1.PutQuery) storev1.FailureReason {
	q := p.GetQuery()
	isNamed := func(q *storev1.Query) bool {
		return q.GetName() != "" || q.GetMatch() == storev1.QueryMatch_QUERY_MATCH_PREFIX
	}
	if s := q.GetSessionId(); len(s) > 0 && (!m.made[numberOf(s)] || m.dead[numberOf(s)]) {
		if !m.made[numberOf(s)] {
			return storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND
		}
		return storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED
	}
	_, known := m.queries[string(p.GetQueryId())]
	switch {
	case p.GetCreate() && known:
		return storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND
	case !p.GetCreate() && !known:
		return storev1.FailureReason_FAILURE_REASON_QUERY_NOT_FOUND
	}
	for id, other := range m.queries {
		if id != string(p.GetQueryId()) && isNamed(q) && isNamed(other) && q.GetName() == other.GetName() {
			return storev1.FailureReason_FAILURE_REASON_QUERY_NAME_TAKEN
		}
	}
	return storev1.FailureReason_FAILURE_REASON_UNSPECIFIED
}

// checkQueries compares the prepared queries of the store, and which of them a name runs, with the model.
func (m *catalogModel) checkQueries(r *storage.Reader) error {
	if err := m.dropQueries(r); err != nil {
		return err
	}
	left := len(m.queries)
	err := r.Queries(storage.QueryID{}, func(q storage.QueryEntry) (bool, error) {
		left--
		if want := m.queries[string(q.ID[:])]; !proto.Equal(q.Record.GetQuery(), want) {
			return false, fmt.Errorf("got query %v, want %v", q.Record, want)
		}
		return true, nil
	})
	if err != nil || left != 0 {
		return fmt.Errorf("%d queries are missing: %w", left, err)
	}
	const name = "db-north-1"
	best, length := "", -1
	for id, q := range m.queries {
		byPrefix := q.GetMatch() == storev1.QueryMatch_QUERY_MATCH_PREFIX && strings.HasPrefix(name, q.GetName())
		if (byPrefix || q.GetName() == name) && len(q.GetName()) > length {
			best, length = id, len(q.GetName())
		}
	}
	got, found, err := r.QueryFor(name)
	if err != nil || found != (length >= 0) || found && string(got.ID[:]) != best {
		return fmt.Errorf("%s runs query %s, %w, want %x", name, got.ID, err, best)
	}
	return nil
}

// check compares the store with the model.
func (m *catalogModel) check(s *storage.Store, sessions uint64) error {
	r := s.NewReader()
	defer func() { _ = r.Close() }()
	got, services, checks := map[string]string{}, 0, 0
	err := r.Nodes("", "", func(n storage.NodeEntry) (bool, error) {
		got[n.Key] = string(n.Record.GetNode().GetNodeId())
		if n.Tally.GetServices() != uint32(len(m.nodes[n.Key].services)) || n.Tally.GetChecks() != uint32(len(m.nodes[n.Key].checks)) {
			return false, fmt.Errorf("node %s counts %v, want %v", n.Key, n.Tally, m.nodes[n.Key])
		}
		return true, nil
	})
	want := map[string]string{}
	for name, n := range m.nodes {
		want[name] = n.id
		services, checks = services+len(n.services), checks+len(n.checks)
	}
	if err != nil || !maps.Equal(got, want) {
		return fmt.Errorf("got nodes %q, %w, want %q", got, err, want)
	}
	err = r.Services("", storage.EntryAt{}, func(at storage.EntryAt, s *storev1.ServiceRecord) (bool, error) {
		services--
		if e, there := m.nodes[at.Node].services[at.ID]; !there || e.of != s.GetService().GetName() || e.origin != s.GetOrigin() {
			return false, fmt.Errorf("got service %v, want %v", s, e)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	err = r.Checks("", storage.EntryAt{}, func(at storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
		checks--
		e, there := m.nodes[at.Node].checks[at.ID]
		if !there || e.of != k.GetCheck().GetServiceId() || e.status != k.GetCheck().GetStatus() || e.origin != k.GetOrigin() {
			return false, fmt.Errorf("got check %v, want %v", k, e)
		}
		return true, nil
	})
	if err != nil || services != 0 || checks != 0 {
		return fmt.Errorf("%d services and %d checks are missing: %w", services, checks, err)
	}
	for n := range sessions {
		id := storage.SessionID(numberedID(n))
		record, lives, err := r.Session(id)
		if err != nil {
			return err
		}
		if lives {
			_, marked, err := r.EndMark(record)
			if err != nil {
				return err
			}
			lives = !marked
		}
		if _, known := m.bound[n]; known && lives == m.dead[n] {
			return fmt.Errorf("session %d, bound to %q: it lives: %t, want %t", n, m.bound[n], lives, !m.dead[n])
		}
	}
	return m.checkQueries(r)
}
