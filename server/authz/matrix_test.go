package authz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// samples are what fields of requests hold in the matrix, by their names: names that are there and neighbours of them, each kind of
// session, and nothing.
var samples = map[string][]string{
	"key": {"a", "a/b", "a0", "ab", "a/"}, "keys": {"a", "a/b"}, "locks": {"a", "b"},
	"prefix": {"a/", "a", ""}, "prefixes": {"a/", ""}, "lock_prefixes": {"b/"}, "range_start": {"a/", "a/1"}, "range_end": {"a0", "a/5", "b"},
	"session_id": {"own", "self", "del", "plain", "unknown"}, "session_ids": {"own", "plain", "unknown"}, "session_alive": {"own", "self", "unknown"},
	"acquire": {"own", "plain"}, "release": {"own", "self"}, "bind_session": {"own", "unknown"}, "to_session_id": {"own", "plain"},
	"held_by": {"web-", "x"}, "name_prefix": {"web-", "h", "H", ""},
	"node_id": {firstNode, secondNode, noNode, ""},
	"node":    {"h1", "H1", "h2", "here", ""}, "nodes": {"h1", "H2"}, "service": {"web", "db", ""}, "services": {"web"},
	"service_id": {"i1", "ix"}, "check_id": {"c1", "c0", "cx"}, "node_checks": {"c0", "cx"}, "service_checks": {"c1"}, "delete_services": {"i1"}, "delete_checks": {"c1", "c0"},
	"name": {"web", "web-1", "h1", "H1", ""}, "accessor": {"", "me", "you"}, "parent": {"", "me", "you"}, "principals": {"token:me", "token:you", "jwt:ci/me"}, "text": {"not a sequencer"},
	"query_id": {storedQuery, longerNames, noQuery}, "id_or_name": {storedQuery, longerNames, noQuery, "web", "db-1"},
}

// filler makes requests from their descriptors.
type filler struct{ random *rand.Rand }

// value sets a field of a message to something.
func (f filler) value(m protoreflect.Message, field protoreflect.FieldDescriptor, depth int) {
	switch {
	case field.IsMap():
	case field.IsList():
		list := m.Mutable(field).List()
		for range 1 + f.random.IntN(2) {
			if field.Message() == nil {
				list.Append(f.scalar(field))
				continue
			}
			f.some(list.AppendMutable().Message(), depth+1)
		}
	case field.Message() != nil:
		f.some(m.Mutable(field).Message(), depth+1)
	default:
		m.Set(field, f.scalar(field))
	}
}

func (f filler) scalar(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		of := samples[string(field.Name())]
		if len(of) == 0 {
			return protoreflect.ValueOfString("x")
		}
		return protoreflect.ValueOfString(of[f.random.IntN(len(of))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{1})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1)
	default:
		return protoreflect.ValueOfUint64(1)
	}
}

// some sets some fields of a message, of each oneof at most one.
func (f filler) some(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	if !strings.HasPrefix(string(m.Descriptor().FullName()), "tenure.v1.") || depth > 4 {
		return
	}
	for i := range fields.Len() {
		field := fields.Get(i)
		if o := field.ContainingOneof(); o != nil && !o.IsSynthetic() && m.WhichOneof(o) != nil && f.random.IntN(2) == 0 {
			continue
		}
		if f.random.IntN(depth+2) < 2 {
			f.value(m, field, depth)
		}
	}
}

// fill returns requests of a kind: an empty one, one for each field with nothing else, and some that have many.
func (f filler) fill(of protoreflect.MessageDescriptor) []proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		panic(err)
	}
	out := []proto.Message{kind.New().Interface()}
	for i := range of.Fields().Len() {
		for range 3 {
			one := kind.New()
			f.value(one, of.Fields().Get(i), 0)
			out = append(out, one.Interface())
		}
	}
	for range 12 {
		many := kind.New()
		f.some(many, 0)
		out = append(out, many.Interface())
	}
	return out
}

// crafted are requests that chance makes too rarely.
func crafted(t *testing.T) []proto.Message {
	t.Helper()
	held := &tenurev1.Sequencer{Key: "a", SessionId: "own", LockIndex: 1, FencingToken: 1}
	text, err := sequencer.Format(&tenurev1.Sequencer{
		Key: "a", SessionId: "0190b5a4-0000-7000-8000-000000000001", LockIndex: 1, FencingToken: 1, HistoryId: strings.Repeat("0", 32),
	})
	if err != nil {
		t.Fatal(err)
	}
	proof := &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: held}}
	out := []proto.Message{
		proof,
		&tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Name: "web", Match: tenurev1.QueryMatch_QUERY_MATCH_PREFIX}},
		&tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Text{Text: text}},
		&tenurev1.ProclaimRequest{Key: "b", Sequencer: held},
		&tenurev1.ReleaseLockRequest{Key: "a", SessionId: "own", Options: &tenurev1.CallOptions{Force: true}},
		&tenurev1.PutRequest{Key: "a", Release: "own", Options: &tenurev1.CallOptions{Force: true}},
		&tenurev1.TxnRequest{Compares: []*tenurev1.Compare{{Operand: &tenurev1.Compare_Guard{Guard: &tenurev1.Guard{
			Condition: &tenurev1.Guard_Held{Held: held},
		}}}}},
	}
	for _, op := range []*tenurev1.Op{
		{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: "a"}}},
		{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: "a/"}}},
		{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "a"}}},
		{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: "a"}}},
		{Kind: &tenurev1.Op_DeletePrefix{DeletePrefix: &tenurev1.DeletePrefixRequest{Prefix: "a/"}}},
		{Kind: &tenurev1.Op_AcquireLock{AcquireLock: &tenurev1.TryAcquireLockRequest{Key: "a", SessionId: "own"}}},
		{Kind: &tenurev1.Op_ReleaseLock{ReleaseLock: &tenurev1.ReleaseLockRequest{Key: "a", SessionId: "own"}}},
		{Kind: &tenurev1.Op_Check{Check: &tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: "own"}}}},
	} {
		out = append(out, &tenurev1.TxnRequest{Then: []*tenurev1.Op{op}}, &tenurev1.TxnRequest{Otherwise: []*tenurev1.Op{op}})
	}
	node := &tenurev1.Node{Name: "h1"}
	out = append(out,
		&tenurev1.SyncNodeRequest{Node: node, DeleteServices: []string{"i1"}}, &tenurev1.SyncNodeRequest{Node: node, DeleteChecks: []string{"c1"}},
		&tenurev1.DeregisterCheckRequest{Node: "h1", CheckId: "c1"}, &tenurev1.DeregisterServiceRequest{Node: "h1", ServiceId: "i1"},
		&tenurev1.UpdateCheckRequest{Node: "h1", CheckId: "c1"},
		&tenurev1.RegisterNodeRequest{Node: node, Services: []*tenurev1.Service{{ServiceId: "i1", Name: "api"}}},
		&tenurev1.RegisterNodeRequest{Node: node, Checks: []*tenurev1.Check{{CheckId: "c1", ServiceId: "i1"}}},
		// A check that is new is of a service that is not.
		&tenurev1.RegisterNodeRequest{Node: node, Checks: []*tenurev1.Check{{CheckId: "c9", ServiceId: "i1"}}},
		// Without an id the name is it; and a node_id names a node, too.
		&tenurev1.RegisterNodeRequest{Node: node, Services: []*tenurev1.Service{{Name: "i1"}}},
		&tenurev1.RegisterNodeRequest{Node: node, Checks: []*tenurev1.Check{{Name: "c1"}}},
		&tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "h1", NodeId: firstNode}},
		&tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "h1", NodeId: secondNode}},
		&tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "h1", NodeId: noNode}},
		&tenurev1.SyncNodeRequest{NodeId: firstNode}, &tenurev1.SyncNodeRequest{NodeId: noNode}, &tenurev1.SyncNodeRequest{NodeId: secondNode, Node: node},
		&tenurev1.SyncNodeRequest{NodeId: firstNode, DeleteServices: []string{"i1"}}, &tenurev1.SyncNodeRequest{NodeId: firstNode, DeleteChecks: []string{"c1"}},
		&tenurev1.SyncNodeRequest{NodeId: firstNode, Services: []*tenurev1.Service{{ServiceId: "i1", Name: "api"}}},
		&tenurev1.SyncNodeRequest{NodeId: firstNode, Checks: []*tenurev1.Check{{Name: "c1", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL}}},
		// A session that names checks of a node may name one of a service among those of the node.
		&tenurev1.CreateSessionRequest{Node: "h1", Checks: &tenurev1.SessionChecks{NodeChecks: []string{"c0"}}},
		&tenurev1.CreateSessionRequest{Node: "H1", Checks: &tenurev1.SessionChecks{NodeChecks: []string{"c0", "c1"}}},
		&tenurev1.CreateSessionRequest{Node: "h1", Checks: &tenurev1.SessionChecks{ServiceChecks: []string{"c1"}}},
		&tenurev1.CreateSessionRequest{Node: "h1", Checks: &tenurev1.SessionChecks{}},
		// The node of an entry does not lead elsewhere: its message's node has it.
		&tenurev1.SyncNodeRequest{NodeId: firstNode, Services: []*tenurev1.Service{{Node: "h2", ServiceId: "i1", Name: "api"}}},
		&tenurev1.SyncNodeRequest{NodeId: firstNode, Checks: []*tenurev1.Check{{Node: "h2", CheckId: "c1", ServiceId: "i1"}}},
	)
	for _, op := range []*tenurev1.CatalogOp{
		{Kind: &tenurev1.CatalogOp_PutNode{PutNode: &tenurev1.Node{Name: "h1"}}},
		{Kind: &tenurev1.CatalogOp_PutService{PutService: &tenurev1.Service{Node: "h1", ServiceId: "i1", Name: "db"}}},
		{Kind: &tenurev1.CatalogOp_PutCheck{PutCheck: &tenurev1.Check{Node: "h1", CheckId: "c1", ServiceId: "i1"}}},
		{Kind: &tenurev1.CatalogOp_Get{Get: &tenurev1.CatalogName{Node: "h1", ServiceId: "i1"}}},
		{Kind: &tenurev1.CatalogOp_Delete{Delete: &tenurev1.CatalogName{Node: "h1", CheckId: "c1"}}},
	} {
		out = append(out, &tenurev1.TxnRequest{Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Catalog{Catalog: op}}}})
	}
	return out
}

// cell is one request by one caller, with what the naive evaluator says.
type cell struct {
	request proto.Message
	who     person
	rights  *Rights
	want    verdict
}

// verdict says whether a request is allowed, and if so whether its answer shows only a part of what it asks for.
type verdict struct{ allowed, filtered bool }

// verdictOf is what the naive evaluator says.
func (w person) verdictOf(asks naive) verdict {
	v := verdict{allowed: true}
	for _, a := range asks {
		switch met := w.allowed(a); {
		case met:
		case a.part:
			v.filtered = true
		default:
			return verdict{}
		}
	}
	return v
}

// callers returns who makes a request: those who lack everything, those who have exactly what it needs, those who lack one part of
// that, and those who have a neighbour's rights instead.
func callers(asks naive) []person {
	all := make([]string, len(asks))
	for i, a := range asks {
		all[i] = a.grant()
	}
	rules := []string{
		"", `query "other" read`, `key * rw`, `key * ro`, `key "a/"* rw`, `key "a" rw`, "session * write", "session own write", "session node self write",
		`session node "h1" write`, "session * read", "node * write", "service * write", "operator write read", "operator backup", "admin write", "admin read",
		"session own read", "session own read\nadmin read",
		"key * break", "session * break", AdminPolicy().String(), strings.Join(all, "\n"),
	}
	for i := range all {
		rest := slices.DeleteFunc(slices.Clone(all), func(rule string) bool { return rule == all[i] })
		rules = append(rules, strings.Join(rest, "\n"))
		if a := asks[i]; a.name != "" && a.noun != "admin" {
			a.name += []string{"0", "b", "/"}[i%3]
			rules = append(rules, strings.Join(append(slices.Clone(rest), a.grant()), "\n"))
		}
	}
	slices.Sort(rules)
	var out []person
	for _, text := range slices.Compact(rules) {
		out = append(out, person{"token:me", "here", text, nil}, person{"", "", text, nil},
			person{"token:me", "here", strings.Join(all, "\n"), &text})
	}
	return out
}

// matrix returns every request by every caller.
func matrix(t *testing.T) []cell {
	t.Helper()
	f := filler{rand.New(rand.NewPCG(1, 2))}
	var messages []proto.Message
	for _, of := range requests() {
		messages = append(messages, f.fill(of)...)
	}
	rights := map[string]*Rights{}
	var cells []cell
	for _, m := range append(messages, crafted(t)...) {
		asks, known := asksOf(m)
		if !known {
			t.Fatalf("the design's text does not say what %s needs", m.ProtoReflect().Descriptor().FullName())
		}
		for _, who := range callers(asks) {
			id := who.principal + who.node + who.rules
			if who.parent != nil {
				id += "\n\n" + *who.parent
			}
			if rights[id] == nil {
				rights[id] = who.rights(t)
			}
			cells = append(cells, cell{m, who, rights[id], who.verdictOf(asks)})
		}
	}
	return cells
}

// resolved completes a need by the facts of these tests, as server/access does by the state. It reports whether it applies.
func resolved(n Need) (Need, bool) {
	if id, is := n.NodeID(); is {
		if n.Node = nodeFacts[id]; n.Node == "" {
			return n, false
		}
	}
	switch n.By {
	case ByNode:
		return n.OfNode(nodeFacts[n.ID])
	case ByService:
		name, there := instanceFacts[n.Node+"/"+n.ID]
		return n.OfService(name), there
	case ByCheck:
		name := checkFacts[n.Node+"/"+n.ID]
		return n.OfService(name), name != ""
	case ByQuery:
		if f, there := queryFacts[n.ID]; there {
			return n.OfQuery(f.name, f.byPrefix), true
		}
		return n.OfUnknownQuery(), true
	case BySession:
		if f := sessionFacts[n.ID]; f != nil {
			return n.OfSession(SessionFacts{Name: f.name, Node: f.node, Maker: f.maker, Deletes: f.deletes})
		}
		return n.OfUnknownSession()
	case ByToken:
	}
	return n, true
}

// says returns what the table and the rights say of a cell.
func (c cell) says(table *Table) verdict {
	needs, err := table.Needs(c.request)
	if err != nil {
		return verdict{}
	}
	v := verdict{allowed: true}
	for _, n := range needs {
		switch need, applies := resolved(n); {
		case !applies, c.rights.Covers(need):
		case n.Part:
			v.filtered = true
		default:
			return verdict{}
		}
	}
	return v
}

func (c cell) String() string {
	return fmt.Sprintf("%s{%s} by %q with\n%s", c.request.ProtoReflect().Descriptor().Name(), prototext.MarshalOptions{}.Format(c.request),
		c.who.principal, c.who.rules)
}

// TestTheTableAgreesWithANaiveReadingOfTheDesign is the matrix: each request, with each field, by callers that have all that it needs,
// that lack one part, and that have a neighbour's. What is allowed is compared with a second evaluator, which shares no code with the
// first. Then each row of the table is left out in turn: the matrix must notice it.
func TestTheTableAgreesWithANaiveReadingOfTheDesign(t *testing.T) {
	cells := matrix(t)
	table := NewTable()
	allowed, filtered := 0, 0
	byMessage := map[protoreflect.MessageDescriptor][]cell{}
	wrong := 0
	for _, c := range cells {
		if got := c.says(table); got != c.want {
			if wrong++; wrong <= 5 {
				t.Errorf("got %+v, the design says %+v: %v", got, c.want, c)
			}
		}
		if c.want.allowed {
			allowed++
		}
		if c.want.filtered {
			filtered++
		}
		for of := range within(c.request.ProtoReflect()) {
			byMessage[of] = append(byMessage[of], c)
		}
	}
	if wrong > 0 {
		t.Fatalf("%d of %d cases are wrong", wrong, len(cells))
	}
	mutants, noticed := 0, 0
	for of, about := range table.messages {
		for i, r := range about.rows {
			if r.add == nil {
				continue
			}
			mutants++
			table.messages[of] = about.of(slices.Delete(slices.Clone(about.rows), i, i+1))
			if !slices.ContainsFunc(byMessage[of], func(c cell) bool { return c.says(table) != c.want }) {
				t.Errorf("without the row of %s.%s nothing is noticed", of.FullName(), r.field)
				continue
			}
			noticed++
		}
		table.messages[of] = about
	}
	t.Logf("%d requests by callers, %d of them allowed, %d of these in part; %d of %d rows with a need were missed when left out",
		len(cells), allowed, filtered, noticed, mutants)
	if filtered < 1000 {
		t.Errorf("only %d cases show a part", filtered)
	}
}

// within returns the kinds of messages that a message has in it.
func within(m protoreflect.Message) map[protoreflect.MessageDescriptor]bool {
	in := map[protoreflect.MessageDescriptor]bool{m.Descriptor(): true}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				for of := range within(value.List().Get(i).Message()) {
					in[of] = true
				}
			}
		default:
			for of := range within(value.Message()) {
				in[of] = true
			}
		}
		return true
	})
	return in
}

// randomRules returns some rules at random, about what the requests of these tests are about.
func randomRules(random *rand.Rand) string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var rules []string
	for range random.IntN(4) {
		switch random.IntN(6) {
		case 0, 1:
			rules = append(rules, "key "+pick(`"a"`, `"a/"*`, `"a"*`, `"b"`, "*")+" "+
				pick("ro", "rw", "read", "list read", "watch read", "write", "lock", "break", "write lock"))
		case 2:
			rules = append(rules, pick(`session "web-1"`, `session "web-"*`, `session "db"`, "session *", "session own", "session node self",
				`session node "H1"`, `session node "h"*`, "session node *")+" "+pick("read", "write", "break", "read break"))
		case 3:
			rules = append(rules, "node "+pick(`"H1"`, `"h"*`, "*")+" "+pick("read", "write"))
		case 4:
			rules = append(rules, "service "+pick(`"web"`, `"w"*`, "*")+" "+pick("read", "write"))
		default:
			rules = append(rules, pick("operator read", "operator write", "operator backup", "admin read", "admin write", `query * read`))
		}
	}
	return strings.Join(rules, "\n")
}

// agree compares both evaluators on requests and callers that a seed makes, and returns how many were compared and allowed.
func agree(t *testing.T, seed uint64) (compared, allowed int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	all := requests()
	table := NewTable()
	for range 20 {
		for _, m := range (filler{random}).fill(all[random.IntN(len(all))]) {
			asks, known := asksOf(m)
			if !known {
				t.Fatalf("the design's text does not say what %s needs", m.ProtoReflect().Descriptor().FullName())
			}
			for range 3 {
				who := person{[]string{"token:me", "token:you", ""}[random.IntN(3)], []string{"here", "H1", ""}[random.IntN(3)], randomRules(random), nil}
				if parents := randomRules(random); random.IntN(3) == 0 {
					who.parent = &parents
				}
				c := cell{m, who, who.rights(t), who.verdictOf(asks)}
				if got := c.says(table); got != c.want {
					t.Fatalf("seed %d: got %+v, the design says %+v: %v", seed, got, c.want, c)
				}
				if compared++; c.want.allowed {
					allowed++
				}
			}
		}
	}
	return compared, allowed
}

// FuzzBothEvaluators compares the table and the rights with the naive evaluator, on random requests by callers with random policies.
func FuzzBothEvaluators(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { agree(t, seed) })
}

// TestEachFilterIsMissedWhenLeftOut leaves out, one after the other, what decides about the fields of each answer, and about the facts
// of each error.
func TestEachFilterIsMissedWhenLeftOut(t *testing.T) {
	answers := NewAnswers()
	filters := 0
	for of, about := range answers.messages {
		if about.look == nil {
			continue
		}
		filters++
		answers.messages[of] = answer{rows: about.rows}
		if len(missingAnswers(answers)) == 0 {
			t.Errorf("without the filter of %s nothing is noticed", of.FullName())
		}
		answers.messages[of] = about
	}
	t.Logf("%d filters were left out and missed", filters)
	if filters < 20 {
		t.Errorf("only %d messages have a filter", filters)
	}
}
