package seed_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// Of the machine to which sessions are bound: its node, the check that gossip keeps, and another one.
const (
	boundNode  = "web1"
	liveness   = "liveness"
	ownCheck   = "web-up"
	boundQuery = "mine"
)

// bound says to what a session is bound.
type bound struct {
	// checks are named; none are not given or, with none, given as empty.
	checks []string
	none   bool
	// remove deletes the keys of its locks when it ends.
	remove bool
}

// binder is a candidate that knows the catalog and prepared queries, too.
type binder interface {
	candidate
	// register registers a check of the node, which passes.
	register(check string)
	report(check, status string)
	// deregister deregisters a check of the node or, without one, the node.
	deregister(check string)
	// bind creates a session on the node, without lock-delay.
	bind(b bound) (id string)
	// info returns what is known of a session, as JSON.
	info(id string) string
	// query creates a prepared query of a session.
	query(session string)
	// find runs the query.
	find()
}

// binders are the ways; what a call prints that is not served is left in refused.
var binders = map[string]func(c caller) binder{
	"with curl":    func(c caller) binder { return byCurl{c} },
	"with grpcurl": func(c caller) binder { return byGRPCurl{c} },
	"with tenure":  func(c caller) binder { return byCommand{c} },
}

// ending is one way in which a session that is bound ends, or does not.
type ending struct {
	bound bound
	end   func(c binder)
	// want is the cause; empty: the session lives.
	want string
	// refused is what the refusal says of a session that cannot be bound.
	refused string
}

var endings = map[string]ending{
	"by default it ends with the check liveness": {
		end: func(c binder) { c.report(liveness, "critical") }, want: "CHECK_CRITICAL",
	},
	"by default it does not end with another check": {end: func(c binder) { c.report(ownCheck, "critical") }},
	"by default it ends with the node":              {end: func(c binder) { c.deregister("") }, want: "NODE_DEREGISTERED"},
	"by default it ends with the deregistration of liveness": {
		end: func(c binder) { c.deregister(liveness) }, want: "CHECK_DEREGISTERED",
	},
	"with none it outlives the machine": {
		bound: bound{none: true}, end: func(c binder) { c.report(liveness, "critical"); c.deregister(liveness) },
	},
	"with none it ends with the node": {
		bound: bound{none: true}, end: func(c binder) { c.deregister("") }, want: "NODE_DEREGISTERED",
	},
	"with named ones it ends when one is critical": {
		bound: bound{checks: []string{ownCheck, "disk"}}, end: func(c binder) { c.report("disk", "critical") }, want: "CHECK_CRITICAL",
	},
	"with named ones it does not end with liveness": {
		bound: bound{checks: []string{ownCheck}}, end: func(c binder) { c.report(liveness, "critical") },
	},
	"with named ones it does not end at a warning": {
		bound: bound{checks: []string{ownCheck}}, end: func(c binder) { c.report(ownCheck, "warning") },
	},
	"with named ones it ends when one is deregistered": {
		bound: bound{checks: []string{ownCheck}}, end: func(c binder) { c.deregister(ownCheck) }, want: "CHECK_DEREGISTERED",
	},
	"with named ones it ends with the node": {
		bound: bound{checks: []string{ownCheck}}, end: func(c binder) { c.deregister("") }, want: "NODE_DEREGISTERED",
	},
	"with DELETE the key of its lock is deleted": {
		bound: bound{checks: []string{ownCheck}, remove: true}, end: func(c binder) { c.report(ownCheck, "critical") }, want: "CHECK_CRITICAL",
	},
	"a critical one is refused": {
		bound: bound{checks: []string{"disk"}}, end: func(c binder) { c.report("disk", "critical") }, refused: `check "disk" of node "web1" is critical`,
	},
	"a critical liveness is refused": {
		end: func(c binder) { c.report(liveness, "critical") }, refused: `check "liveness" of node "web1" is critical`,
	},
	"one that is not there is refused": {
		bound: bound{checks: []string{"none"}}, end: func(binder) {}, refused: `node "web1" has no check "none"`,
	},
}

// TestSessionsEndWithWhatTheyAreBoundTo binds sessions to a node and to checks, in all three ways, and shows which end: each releases or deletes
// what it held, and takes its prepared query with it. With -short each is shown in one of the ways, by turns; CI shows all of them in each.
func TestSessionsEndWithWhatTheyAreBoundTo(t *testing.T) {
	for turn, name := range slices.Sorted(maps.Keys(binders)) {
		program := binders[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Start(t.Context(), t, binary)
			awaitCatalog(t, m, program)
			for i, sentence := range slices.Sorted(maps.Keys(endings)) {
				if testing.Short() && i%len(binders) != turn {
					continue
				}
				t.Run(sentence, func(t *testing.T) { endings[sentence].run(caller{t: t, m: m}, program) })
			}
		})
	}
}

// awaitCatalog waits until a new cluster uses its catalog.
func awaitCatalog(t *testing.T, m *rig.Member, program func(caller) binder) {
	t.Helper()
	eventually(t, "the catalog is used", func() bool {
		refused := ""
		program(caller{t: t, m: m, refused: &refused}).register("first")
		return refused == ""
	})
}

func (e ending) run(by caller, program func(caller) binder) {
	t, c := by.t, program(by)
	t.Helper()
	for _, check := range []string{liveness, ownCheck, "disk"} {
		c.register(check)
	}
	refused := ""
	asking := by
	asking.refused = &refused
	trying := program(asking)
	if e.refused != "" {
		e.end(c)
		if id := trying.bind(e.bound); id != "" || !strings.Contains(unquoted(refused), e.refused) {
			t.Errorf("got session %q, refused: %s", id, refused)
		}
		return
	}
	id := c.bind(e.bound)
	if ok, printed := c.acquire(id, "held"); !ok {
		t.Fatalf("it does not get the lock: %s", printed)
	}
	c.query(id)
	e.end(c)
	if got := endOf(c.info(id)); got != e.want {
		t.Fatalf("the session ended with %q, want %q", got, e.want)
	}
	if e.want == "" {
		c.find() // It is there.
		if _, holder, _ := c.get(); holder != id {
			t.Errorf("the lock is held by %q, want %q", holder, id)
		}
		c.destroy(id, true)
	}
	if trying.find(); refused == "" {
		t.Error("the prepared query is still there after the session")
	}
	refused = ""
	value, holder, _ := trying.get()
	if gone := refused != ""; gone != e.bound.remove || holder != "" || !gone && value != "held" {
		t.Errorf("after the end the key has the value %q and the holder %q: %s", value, holder, refused)
	}
}

// unquoted returns what a program printed without the escapes of JSON.
func unquoted(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

var endCause = regexp.MustCompile(`"cause":\s*"(?:SESSION_END_CAUSE_)?([^"]+)"`)

// endOf returns why a session ended; empty while it lives. The command line has words in lower case.
func endOf(info string) string {
	if found := endCause.FindStringSubmatch(info); found != nil {
		return strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(found[1]))
	}
	return ""
}

// TestGossipIsTheDefaultCheck kills the agent of a machine, as a power failure would: sessions that name only the node end, and those without checks
// outlive it.
func TestGossipIsTheDefaultCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("a session that ends with a check is enough with -short")
	}
	for name, program := range binders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rig.Start(t.Context(), t, binary, "--name", "m1", "--gossip", "127.0.0.1:0")
			agent := rig.NewAgent(t, binary, boundNode, m.Addresses.GRPC, "--gossip", "127.0.0.1:0")
			agent.Restart(t.Context())
			by := caller{t: t, m: m}
			c := program(by)
			eventually(t, "gossip knows the machine", func() bool {
				out, _, _ := by.run("", binary, "--endpoints", m.Addresses.GRPC, "catalog", "checks", "--node", boundNode, "--status", "passing")
				return strings.Contains(out, liveness)
			})
			id, free := c.bind(bound{}), c.bind(bound{none: true})
			if ok, printed := c.acquire(id, "held"); !ok {
				t.Fatalf("it does not get the lock: %s", printed)
			}
			c.query(id)
			agent.Kill()
			eventually(t, "the session ends", func() bool { return endOf(c.info(id)) != "" })
			if got := endOf(c.info(id)); got != "CHECK_CRITICAL" {
				t.Errorf("the session ended with %s", got)
			}
			if value, holder, _ := c.get(); value != "held" || holder != "" {
				t.Errorf("after the end the key has the value %q and the holder %q", value, holder)
			}
			if got := endOf(c.info(free)); got != "" {
				t.Errorf("the session without checks ended with %s", got)
			}
			refused := ""
			by.refused = &refused
			if program(by).find(); refused == "" {
				t.Error("the prepared query is still there after the session")
			}
			refused = ""
			if id := program(by).bind(bound{}); id != "" || !strings.Contains(unquoted(refused), `check "liveness" of node "web1" is critical`) {
				t.Errorf("got session %q, refused: %s", id, refused)
			}
		})
	}
}

// request returns the session to create, as REST and gRPC have it.
func (b bound) request() map[string]any {
	r := map[string]any{"node": boundNode, "ttl": seconds(longTTL), "lockDelay": "0s"}
	switch {
	case len(b.checks) > 0:
		r["checks"] = map[string]any{"nodeChecks": b.checks}
	case b.none:
		r["checks"] = map[string]any{}
	}
	if b.remove {
		r["behavior"] = "SESSION_BEHAVIOR_DELETE"
	}
	return r
}

// registration returns the node with a check, as REST and gRPC have it.
func registration(check string) map[string]any {
	return map[string]any{
		"node":   map[string]any{"name": boundNode},
		"checks": []any{map[string]any{"checkId": check, "status": "CHECK_STATUS_PASSING"}},
	}
}

// statusName returns a status as REST and gRPC have it.
func statusName(status string) string { return "CHECK_STATUS_" + strings.ToUpper(status) }

// queryOf returns the prepared query of a session, as REST and gRPC have it.
func queryOf(session string) map[string]any {
	return map[string]any{"query": map[string]any{"name": boundQuery, "service": "web", "sessionId": session}}
}

// post makes a call with a body over REST.
func (c byCurl) post(path string, body map[string]any) string {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.call("POST", path, string(text))
}

func (c byCurl) register(check string) { c.post("/v1/nodes", registration(check)) }

func (c byCurl) report(check, status string) {
	c.post("/v1/nodes/"+boundNode+"/checks/"+check, map[string]any{"status": statusName(status)})
}

func (c byCurl) deregister(check string) {
	path := "/v1/nodes/" + boundNode
	if check != "" {
		path += "/checks/" + check
	}
	c.call("DELETE", path, "")
}

func (c byCurl) bind(b bound) string { return c.decode(c.post("/v1/sessions", b.request())).SessionID }

func (c byCurl) info(id string) string { return c.call("GET", "/v1/sessions/"+id, "") }

func (c byCurl) query(session string) { c.post("/v1/queries", queryOf(session)) }

func (c byCurl) find() { c.call("GET", "/v1/query-results/"+boundQuery, "") }

func (c byGRPCurl) register(check string) { c.call("CatalogService/RegisterNode", registration(check)) }

func (c byGRPCurl) report(check, status string) {
	c.call("CatalogService/UpdateCheck", map[string]any{"node": boundNode, "checkId": check, "status": statusName(status)})
}

func (c byGRPCurl) deregister(check string) {
	if check == "" {
		c.call("CatalogService/DeregisterNode", map[string]any{"node": boundNode})
		return
	}
	c.call("CatalogService/DeregisterCheck", map[string]any{"node": boundNode, "checkId": check})
}

func (c byGRPCurl) bind(b bound) string {
	return c.decode(c.call("SessionService/CreateSession", b.request())).SessionID
}

func (c byGRPCurl) info(id string) string {
	return c.call("SessionService/GetSession", map[string]any{"sessionId": id})
}

func (c byGRPCurl) query(session string) { c.call("QueryService/CreateQuery", queryOf(session)) }

func (c byGRPCurl) find() {
	c.call("QueryService/ExecuteQuery", map[string]any{"idOrName": boundQuery})
}

func (c byCommand) register(check string) {
	c.call(0, "catalog", "register", boundNode, "--check", check, "--status", "passing")
}

func (c byCommand) report(check, status string) {
	c.call(0, "catalog", "check", boundNode, check, status)
}

func (c byCommand) deregister(check string) {
	args := []string{"catalog", "deregister", boundNode}
	if check != "" {
		args = append(args, "--check", check)
	}
	c.call(0, args...)
}

func (c byCommand) bind(b bound) string {
	args := []string{"session", "create", "--node", boundNode, "--ttl", longTTL.String(), "--lock-delay", "0s"}
	for _, check := range b.checks {
		args = append(args, "--check", check)
	}
	if b.none {
		args = append(args, "--check", "")
	}
	if b.remove {
		args = append(args, "--behavior", "delete")
	}
	out, _, _ := c.call(0, args...)
	return strings.TrimSpace(out)
}

func (c byCommand) info(id string) string {
	out, _, _ := c.call(0, "session", "info", id, "-o", "json")
	return out
}

func (c byCommand) query(session string) {
	c.call(0, "query", "create", boundQuery, "--service", "web", "--session", session)
}

func (c byCommand) find() { c.call(0, "query", "run", boundQuery) }
