package access

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
)

// lookup finds, on one snapshot, what the needs of a message are about where the message has only an id.
type lookup struct {
	state *storage.Reader
	// mayChange says that another snapshot may show something else: what was looked for is not there, or its name may change. Only a session
	// that is there stays as it is.
	mayChange bool
}

// need finds what a need is about that only the state knows. It reports whether the need applies.
func (l *lookup) need(n authz.Need) (authz.Need, bool, error) {
	if id, is := n.NodeID(); is {
		var err error
		if n.Node, err = l.nodeWithID(id); err != nil || n.Node == "" {
			return n, false, err
		}
	}
	switch n.By {
	case authz.ByNode:
		return l.node(n)
	case authz.ByService:
		return l.service(n, n.ID)
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

// nodeWithID returns the key of the node with an id; empty: there is none. What is no id is refused by its service.
func (l *lookup) nodeWithID(id string) (string, error) {
	l.mayChange = true
	raw, failed := storage.ParseSessionID(id)
	if failed != nil {
		return "", nil //nolint:nilerr // There is no such node.
	}
	key, _, err := l.state.NodeWithID(raw[:])
	return key, err
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
func (l *lookup) service(n authz.Need, id string) (authz.Need, bool, error) {
	l.mayChange = true
	entry, found, err := l.state.Service(storage.NodeKey(n.Node), id)
	if err != nil || !found {
		return n, false, err
	}
	return n.OfService(entry.GetService().GetName()), true, nil
}

// check finds the name of the service whose check a need names. Of one that is not there, or that is a node's, is no need.
func (l *lookup) check(n authz.Need) (authz.Need, bool, error) {
	l.mayChange = true
	check, found, err := l.state.Check(storage.NodeKey(n.Node), n.ID)
	if err != nil || !found || check.GetCheck().GetServiceId() == "" {
		return n, false, err
	}
	return l.service(n, check.GetCheck().GetServiceId())
}

// query finds the name of the prepared query that a need names.
func (l *lookup) query(n authz.Need) (authz.Need, bool, error) {
	id, failed := storage.ParseSessionID(n.ID)
	if failed != nil {
		return n, true, nil //nolint:nilerr // It takes the right to all queries to learn that this is no id.
	}
	l.mayChange = true
	q, found, err := l.state.Query(id)
	if err != nil {
		return n, true, err
	}
	if !found {
		return n.OfUnknownQuery(), true, nil
	}
	stored := q.Record.GetQuery()
	return n.OfQuery(stored.GetName(), stored.GetMatch() == storev1.QueryMatch_QUERY_MATCH_PREFIX), true, nil
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
		l.mayChange = true
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
