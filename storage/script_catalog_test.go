package storage_test

import (
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// parseCatalogCommand reads a command about the catalog. Ids of nodes are written like those of sessions.
func parseCatalogCommand(w *words, verb string, cmd *storev1.Command) bool {
	w.t.Helper()
	switch verb {
	case "register":
		r := &storev1.RegisterNode{SkipNodeUpdate: w.flag("skip"), Term: w.num("term"), DrawnNodeId: w.id("drawn")}
		if w.flag("pool") {
			r.Origin = storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
		}
		r.Node = parseNode(w)
		e := parseEntries(w)
		r.Services, r.Checks = e.services, e.checks
		cmd.Kind = &storev1.Command_RegisterNode{RegisterNode: r}
	case "sync":
		s := &storev1.SyncNode{Sync: &storev1.SyncNumber{Boot: w.num("boot"), Number: w.num("number")}}
		if name := w.str("node"); name != "" {
			s.Node = &storev1.Node{Name: name}
		}
		s.NodeId = idBytes(w.t, w.next())
		e := parseEntries(w)
		s.Services, s.Checks, s.DeleteServices, s.DeleteChecks = e.services, e.checks, e.deleteServices, e.deleteChecks
		cmd.Kind = &storev1.Command_SyncNode{SyncNode: s}
	case "update-check":
		cmd.Kind = &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{
			Output: w.str("output"), Node: w.next(), CheckId: w.next(), Status: parseStatus(w.t, w.next()),
		}}
	case "deregister":
		cmd.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{
			IfNodeId: w.id("if"), Term: w.num("term"), UnlessBound: w.flag("unless-bound"), Name: parseEntryName(w),
		}}
	case "liveness":
		cmd.Kind = &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{
			Term: w.num("term"), Output: w.str("output"), NodeId: idBytes(w.t, w.next()), Status: parseStatus(w.t, w.next()),
		}}
	case "end-marked":
		cmd.Kind = &storev1.Command_EndMarked{EndMarked: &storev1.EndMarked{Term: w.num("term")}}
	case "create-query", "update-query":
		cmd.Kind = &storev1.Command_PutQuery{PutQuery: parseQuery(w, verb == "create-query")}
	case "delete-query":
		cmd.Kind = &storev1.Command_DeleteQuery{DeleteQuery: &storev1.DeleteQuery{QueryId: idBytes(w.t, w.next())}}
	default:
		return parseMemberCommand(w, verb, cmd)
	}
	return true
}

// parseQuery reads a prepared query. Its id is written like that of a session.
func parseQuery(w *words, create bool) *storev1.PutQuery {
	w.t.Helper()
	p := &storev1.PutQuery{Create: create, Session: w.ref("session")}
	if w.has("if-revision") {
		p.IfRevision = new(w.num("if-revision"))
	}
	q := &storev1.Query{
		Match: storev1.QueryMatch_QUERY_MATCH_NAME, Name: w.str("name"), Regexp: w.str("regexp"), OnlyPassing: w.flag("passing"),
		SessionId: p.GetSession().GetSessionId(),
	}
	if w.flag("prefix") {
		q.Match = storev1.QueryMatch_QUERY_MATCH_PREFIX
	}
	if tags := w.str("tags"); tags != "" {
		q.Tags = strings.Split(tags, ",")
	}
	p.QueryId = idBytes(w.t, w.next())
	q.Service = w.next()
	p.Query = q
	return p
}

// id reads the id of a node that may be left out.
func (w *words) id(name string) []byte {
	w.t.Helper()
	if text := w.str(name); text != "" {
		return idBytes(w.t, text)
	}
	return nil
}

func idBytes(t *testing.T, text string) []byte {
	t.Helper()
	if text == "none" {
		return nil
	}
	return id(t, text)
}

func parseNode(w *words) *storev1.Node {
	w.t.Helper()
	return &storev1.Node{
		NodeId: w.id("id"), Address: w.str("address"), GossipAddress: w.str("gossip"), Zone: w.str("zone"), Name: w.next(),
	}
}

func parseEntryName(w *words) *storev1.CatalogName {
	w.t.Helper()
	return &storev1.CatalogName{ServiceId: w.str("service"), CheckId: w.str("check"), Node: w.next()}
}

// entries are what is left of a line: service:ID:NAME, check:ID:STATUS:SERVICE, -service:ID and -check:ID.
type entries struct {
	services                     []*storev1.Service
	checks                       []*storev1.Check
	deleteServices, deleteChecks []string
}

func parseEntries(w *words) entries {
	w.t.Helper()
	e := entries{}
	for len(w.pos) > 0 {
		kind, rest, _ := strings.Cut(w.next(), ":")
		parts := append(strings.Split(rest, ":"), "", "")
		switch kind {
		case "service":
			e.services = append(e.services, &storev1.Service{
				ServiceId: parts[0], Name: parts[1], Address: parts[2], WeightPassing: 1, WeightWarning: 1,
			})
		case "check":
			e.checks = append(e.checks, &storev1.Check{
				CheckId: parts[0], Name: parts[0], Status: parseStatus(w.t, parts[1]), ServiceId: parts[2],
			})
		case "-service":
			e.deleteServices = append(e.deleteServices, parts[0])
		case "-check":
			e.deleteChecks = append(e.deleteChecks, parts[0])
		default:
			w.t.Fatalf("%s: unknown entry", w.line)
		}
	}
	return e
}

func parseStatus(t *testing.T, text string) storev1.CheckStatus {
	t.Helper()
	switch text {
	case "", "none":
		return storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED
	case "passing":
		return storev1.CheckStatus_CHECK_STATUS_PASSING
	case "warning":
		return storev1.CheckStatus_CHECK_STATUS_WARNING
	case "critical":
		return storev1.CheckStatus_CHECK_STATUS_CRITICAL
	default:
		t.Fatalf("%s: unknown status", text)
		return 0
	}
}

// parseChecks reads the checks that a session names; "none" names none, and nothing leaves the choice to the store.
func parseChecks(w *words) *storev1.SessionChecks {
	w.t.Helper()
	switch text := w.str("checks"); text {
	case "":
		return nil
	case "none":
		return &storev1.SessionChecks{}
	default:
		return &storev1.SessionChecks{CheckIds: strings.Split(text, ",")}
	}
}

// parseCatalogOp reads an operation of a transaction on the catalog.
func parseCatalogOp(w *words, verb string) *storev1.CatalogOp {
	w.t.Helper()
	op := &storev1.CatalogOp{}
	if w.has("if-revision") {
		op.IfRevision = new(w.num("if-revision"))
	}
	switch verb {
	case "put-node":
		put := &storev1.PutNodeOp{DrawnNodeId: w.id("drawn")}
		put.Node = parseNode(w)
		op.Kind = &storev1.CatalogOp_PutNode{PutNode: put}
	case "put-service":
		put := &storev1.PutServiceOp{Node: w.next()}
		put.Service = parseEntries(w).services[0]
		op.Kind = &storev1.CatalogOp_PutService{PutService: put}
	case "put-check":
		put := &storev1.PutCheckOp{Node: w.next()}
		put.Check = parseEntries(w).checks[0]
		op.Kind = &storev1.CatalogOp_PutCheck{PutCheck: put}
	case "get-entry":
		op.Kind = &storev1.CatalogOp_Get{Get: parseEntryName(w)}
	case "delete-entry":
		op.Kind = &storev1.CatalogOp_Delete{Delete: parseEntryName(w)}
	default:
		return nil
	}
	return op
}
