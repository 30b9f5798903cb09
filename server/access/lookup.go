package access

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// lookup finds, on one snapshot, what the needs of a message are about where the message has only an id.
type lookup struct {
	state *storage.Reader
	// found is what it found that may be otherwise on another snapshot: what is not there may come, and a name may change.
	found []*storev1.Finding
	// absent says that a session is not there. One that is there stays as it is.
	absent bool
	// serviceOf says which service an instance or a check is of; nil: the snapshot does. See authz.Local.
	serviceOf func(authz.Need) string
	// claims says that the snapshot does where serviceOf says nothing.
	claims bool
}

// mayChange reports whether another snapshot may show something else.
func (l *lookup) mayChange() bool { return l.absent || len(l.found) > 0 }

// need finds what a need is about that only the state knows. It reports whether the need applies.
func (l *lookup) need(n authz.Need) (authz.Need, bool, error) {
	if id, is := n.NodeID(); is && (n.By == authz.ByService || n.By == authz.ByCheck) { // Else it is a name that a client sent.
		var err error
		if n.Node, err = l.nodeWithID(id); err != nil || n.Node == "" {
			return n, false, err
		}
	}
	switch n.By {
	case authz.ByNode:
		return l.node(n)
	case authz.ByService:
		return l.service(n)
	case authz.ByCheck:
		return l.check(n)
	case authz.ByQuery:
		return l.query(n)
	case authz.BySession:
		return l.session(n)
	case authz.ByToken:
	}
	return n, true, nil
}

// find finds what is under an id. A message may name the same node with each of its entries. How many entries it has, its service looks only later, so
// those that are looked up have an end.
func (l *lookup) find(of *storev1.Finding) (*storev1.Finding, error) {
	if len(l.found) == storage.FindingsMax {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the request names more than %d entries by their ids", storage.FindingsMax)
	}
	for _, f := range l.found {
		if f.GetKind() == of.GetKind() && f.GetEntryId() == of.GetEntryId() && f.GetNode() == of.GetNode() && string(f.GetId()) == string(of.GetId()) {
			return f, nil
		}
	}
	found, err := l.state.Find(of)
	if err != nil {
		return nil, err
	}
	l.found = append(l.found, found)
	return found, nil
}

// nodeWithID returns the key of the node with an id; empty: there is none. What is no id is refused by its service.
func (l *lookup) nodeWithID(id string) (string, error) {
	raw, failed := storage.ParseSessionID(id)
	if failed != nil {
		return "", nil //nolint:nilerr // There is no such node.
	}
	found, err := l.find(&storev1.Finding{Kind: storev1.FindingKind_FINDING_KIND_NODE, Id: raw[:]})
	return found.GetName(), err
}

// node finds the name of the node that a need names by its node_id.
func (l *lookup) node(n authz.Need) (authz.Need, bool, error) {
	if _, failed := storage.ParseSessionID(n.ID); failed != nil {
		return n, n.Node == "", nil //nolint:nilerr // It takes the right to all nodes, or to the one that is named, to learn that this is no id.
	}
	name, err := l.nodeWithID(n.ID)
	named, applies := n.OfNode(name)
	return named, applies, err
}

// service finds the name of the service whose instance a need names. Of one that is not there is no need.
func (l *lookup) service(n authz.Need) (authz.Need, bool, error) {
	return l.entry(n, storev1.FindingKind_FINDING_KIND_SERVICE)
}

// check finds the name of the service whose check a need names. Of one that is not there, or that is a node's, is no need.
func (l *lookup) check(n authz.Need) (authz.Need, bool, error) {
	return l.entry(n, storev1.FindingKind_FINDING_KIND_CHECK)
}

// entry finds the name of the service that an instance or a check on a node belongs to.
func (l *lookup) entry(n authz.Need, kind storev1.FindingKind) (authz.Need, bool, error) {
	if l.serviceOf != nil {
		if name := l.serviceOf(n); name != "" || !l.claims {
			return n.OfService(name), name != "", nil
		}
	}
	found, err := l.find(&storev1.Finding{Kind: kind, Node: storage.NodeKey(n.Node), EntryId: n.ID})
	if err != nil || found.GetName() == "" {
		return n, false, err
	}
	return n.OfService(found.GetName()), true, nil
}

// query finds the name of the prepared query that a need names.
func (l *lookup) query(n authz.Need) (authz.Need, bool, error) {
	id, failed := storage.ParseSessionID(n.ID)
	if failed != nil {
		return n, true, nil //nolint:nilerr // It takes the right to all queries to learn that this is no id.
	}
	found, err := l.find(&storev1.Finding{Kind: storev1.FindingKind_FINDING_KIND_QUERY, Id: id[:]})
	switch {
	case err != nil:
		return n, true, err
	case !found.GetFound():
		return n.OfUnknownQuery(), true, nil
	default:
		return n.OfQuery(found.GetName(), found.GetByPrefix()), true, nil
	}
}

// session finds the session that a need names, which may have ended.
func (l *lookup) session(n authz.Need) (authz.Need, bool, error) {
	id, failed := storage.ParseSessionID(n.ID)
	if failed != nil {
		return unknownSession(n) // What is no id is refused by its service.
	}
	record, known, err := l.state.Session(id)
	if err == nil && !known {
		var ended *storev1.EndedSessionRecord
		ended, known, err = l.state.EndedSession(id)
		record = ended.GetSession()
	}
	if err != nil {
		return n, true, err
	}
	if !known {
		l.absent = true
		return unknownSession(n)
	}
	need, applies := n.OfSession(authz.SessionFacts{
		Name: record.GetName(), Node: record.GetNode(), Maker: record.GetPrincipal(),
		Deletes: record.GetBehavior() == storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE,
	})
	return need, applies, nil
}

// unknownSession returns what it takes to learn that a session is not there.
func unknownSession(n authz.Need) (authz.Need, bool, error) {
	need, applies := n.OfUnknownSession()
	return need, applies, nil
}
