package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/fields"
)

const (
	fullNode   = "web1"
	fullNodeID = "11111111-1111-4111-8111-111111111111"
)

// onlyAnswered are the fields that registrations ignore, because only answers set them.
var onlyAnswered = []string{
	"tenure.v1.Node.create_revision", "tenure.v1.Node.mod_revision", "tenure.v1.Node.origin", "tenure.v1.Node.last_sync",
	"tenure.v1.Service.create_revision", "tenure.v1.Service.mod_revision", "tenure.v1.Service.origin",
	"tenure.v1.Check.service_name", "tenure.v1.Check.create_revision", "tenure.v1.Check.mod_revision", "tenure.v1.Check.origin",
	"tenure.v1.Query.query_id", "tenure.v1.Query.create_revision", "tenure.v1.Query.mod_revision",
	"tenure.v1.UpdateQueryRequest.if_revision", // Whatever it is, it is a revision to compare with.
}

// index is the one at the end of the name of a field.
var index = regexp.MustCompile(`\[\d+\]$`)

// fullDefinitions are definitions of checks of all kinds, with something in each field.
func fullDefinitions() []*tenurev1.CheckDefinition {
	tls := &tenurev1.HttpCheck{
		Url: "https://127.0.0.1/", Method: "GET", Body: "b", Headers: []*tenurev1.HttpHeader{{Name: "A", Values: []string{"b"}}},
		TlsServerName: "n", TlsCaFile: "f", TlsSkipVerify: true, FollowRedirects: true,
	}
	return []*tenurev1.CheckDefinition{
		{
			Kind:     &tenurev1.CheckDefinition_Http{Http: tls},
			Interval: durationpb.New(1e9 + 1), Timeout: durationpb.New(1e9), SuccessBeforePassing: 1, FailuresBeforeWarning: 1,
			FailuresBeforeCritical: 2, DeregisterCriticalAfter: durationpb.New(3600e9),
		},
		{Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(60e9)}}},
		{Kind: &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: "127.0.0.1:1"}}},
		{Kind: &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{
			Address: "127.0.0.1:1", Service: "s", Tls: true, TlsServerName: "n", TlsCaFile: "f", TlsSkipVerify: true,
		}}},
		{Kind: &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: []string{"true", "a"}}}},
		{Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "web2", ServiceId: "s"}}},
	}
}

// fullEntries are a node with a service and checks, with something in each field.
func fullEntries() (*tenurev1.Node, []*tenurev1.Service, []*tenurev1.Check) {
	node := &tenurev1.Node{
		Name: fullNode, NodeId: fullNodeID, Address: "10.0.0.1", GossipAddress: "10.0.0.1:1", Zone: "z",
		TaggedAddresses: map[string]string{"lan": "10.0.0.1"}, Meta: map[string]string{"a": "b"},
	}
	service := &tenurev1.Service{
		Node: fullNode, ServiceId: "s", Name: "web", Tags: []string{"a"}, Address: "10.0.0.1", Port: 80, Meta: map[string]string{"a": "b"},
		Weights: &tenurev1.ServiceWeights{Passing: 1, Warning: 1}, TagOverride: true,
	}
	var checks []*tenurev1.Check
	for i, d := range fullDefinitions() {
		checks = append(checks, &tenurev1.Check{
			Node: fullNode, CheckId: string(rune('a' + i)), Name: "n", ServiceId: "s", Status: warning, Output: "o", Notes: "n", Kind: "k", Definition: d,
		})
	}
	return node, []*tenurev1.Service{service}, checks
}

// fieldCall is a call that registers something.
type fieldCall struct {
	full proto.Message
	// method and path are those of REST; the path is made of fields of the full request, which are not asked for over REST.
	method, path string
	pathFields   []string
	call         func(t *testing.T, m *member, r proto.Message) error
}

// of returns a message as one of its own type.
func of[M proto.Message](t *testing.T, m proto.Message) M {
	t.Helper()
	own, ok := m.(M)
	if !ok {
		t.Fatalf("got a message %T", m)
	}
	return own
}

// fieldCalls are all calls of members that register.
func fieldCalls(session, query string) map[string]fieldCall {
	node, services, checks := fullEntries()
	return map[string]fieldCall{
		"RegisterNode": {
			full:   &tenurev1.RegisterNodeRequest{Node: node, SkipNodeUpdate: true, Services: services, Checks: checks},
			method: http.MethodPost, path: "/v1/nodes",
			call: func(t *testing.T, m *member, r proto.Message) error {
				return result(m.catalog().RegisterNode(t.Context(), of[*tenurev1.RegisterNodeRequest](t, r)))
			},
		},
		"SyncNode": {
			full: &tenurev1.SyncNodeRequest{
				NodeId: fullNodeID, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 1}, Node: node, Services: services, Checks: checks,
				DeleteServices: []string{"d"}, DeleteChecks: []string{"d"},
			},
			method: http.MethodPost, path: "/v1/node-syncs/" + fullNodeID, pathFields: []string{"node_id"},
			call: func(t *testing.T, m *member, r proto.Message) error {
				return result(m.catalog().SyncNode(t.Context(), of[*tenurev1.SyncNodeRequest](t, r)))
			},
		},
		"UpdateCheck": {
			full:   &tenurev1.UpdateCheckRequest{Node: fullNode, CheckId: "a", Status: warning, Output: "o"},
			method: http.MethodPost, path: "/v1/nodes/" + fullNode + "/checks/a", pathFields: []string{"node", "check_id"},
			call: func(t *testing.T, m *member, r proto.Message) error {
				return result(m.catalog().UpdateCheck(t.Context(), of[*tenurev1.UpdateCheckRequest](t, r)))
			},
		},
		"CreateQuery": {
			full: &tenurev1.CreateQueryRequest{Query: fullQuery(session)}, method: http.MethodPost, path: "/v1/queries",
			call: func(t *testing.T, m *member, r proto.Message) error {
				return result(m.queries().CreateQuery(t.Context(), of[*tenurev1.CreateQueryRequest](t, r)))
			},
		},
		"UpdateQuery": {
			full:   &tenurev1.UpdateQueryRequest{QueryId: query, Query: fullQuery(session)},
			method: http.MethodPut, path: "/v1/queries/" + query, pathFields: []string{"query_id"},
			call: func(t *testing.T, m *member, r proto.Message) error {
				return result(m.queries().UpdateQuery(t.Context(), of[*tenurev1.UpdateQueryRequest](t, r)))
			},
		},
	}
}

// fullQuery is a query with something in each field.
func fullQuery(session string) *tenurev1.Query {
	return &tenurev1.Query{
		Name: "full", SessionId: session, Match: tenurev1.QueryMatch_QUERY_MATCH_PREFIX, Regexp: "^(.*)$", Service: "web", Tags: []string{"a"},
		OnlyPassing: true, IgnoreChecks: []string{"c"}, NodeMeta: map[string]string{"a": "b"}, ServiceMeta: map[string]string{"a": "b"}, Near: "web1",
		Fallbacks: []*tenurev1.QueryFallback{{Service: "web", Tags: []string{"a"}, Zone: "z"}}, RemoveEmptyTags: true, Meta: map[string]string{"a": "b"},
	}
}

// inOps returns the requests that write the entries in a transaction, each as the operation with its entry.
func inOps() map[string]*tenurev1.CatalogOp {
	node, services, checks := fullEntries()
	return map[string]*tenurev1.CatalogOp{
		"put_node":    {Kind: &tenurev1.CatalogOp_PutNode{PutNode: node}},
		"put_service": {Kind: &tenurev1.CatalogOp_PutService{PutService: services[0]}, IfRevision: proto.Uint64(0)},
		"put_check":   {Kind: &tenurev1.CatalogOp_PutCheck{PutCheck: checks[0]}},
		"get":         {Kind: &tenurev1.CatalogOp_Get{Get: &tenurev1.CatalogName{Node: fullNode, ServiceId: "s"}}},
		"delete":      {Kind: &tenurev1.CatalogOp_Delete{Delete: &tenurev1.CatalogName{Node: fullNode, CheckId: "a"}}},
	}
}

// sampled returns each of the names, or some at equal distances, others in each run, where all would take many minutes.
func sampled(t *testing.T, names []string) (some []string) {
	t.Helper()
	first := rand.IntN(oneOf)
	if oneOf > 1 {
		t.Logf("one of %d, from number %d on", oneOf, first)
	}
	for i := first; i < len(names); i += oneOf {
		some = append(some, names[i])
	}
	return some
}

// TestWhateverARegistrationSaysInAnyField puts each hostile value into each field of each registration that members take, over gRPC and over REST.
// Each is refused with a reason, one that is out of bounds by its field; or it is taken, and is then so there that the same again changes nothing.
func TestWhateverARegistrationSaysInAnyField(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "registers")
	query := m.prepareQuery(t, &tenurev1.Query{Name: "there", Service: "web"})
	var all []proto.Message
	calls := fieldCalls(session, query)
	for _, name := range slices.Sorted(maps.Keys(calls)) { // Queries are created before another takes their name.
		call := calls[name]
		all = append(all, call.full)
		t.Run(name, func(t *testing.T) {
			cases, taken := 0, 0
			places := placesIn(call.full)
			m.clear(t, query)
			for _, what := range sampled(t, slices.Sorted(maps.Keys(places))) {
				at := places[what]
				r := at.In(call.full)
				err := call.call(t, m, r)
				cases++
				wantFieldNamed(t, what, at.Path, err)
				if err == nil {
					taken++
					m.isThereAsSaid(t, what, call, r)
					m.clear(t, query)
				}
				if slices.Contains(call.pathFields, at.Path) {
					continue
				}
				if m.wantSameOverREST(t, what, call, r, err); err == nil {
					m.clear(t, query)
				}
			}
			if t.Logf("%d registrations, of which %d were taken", cases, taken); oneOf == 1 && (cases < 40 || taken < 5 || taken > cases*3/4) {
				t.Errorf("floor: %d registrations, of which %d were taken", cases, taken)
			}
		})
	}
	for name, op := range inOps() {
		all = append(all, op)
		t.Run("Txn "+name, func(t *testing.T) {
			places := placesIn(op)
			m.clear(t, query)
			for _, what := range sampled(t, slices.Sorted(maps.Keys(places))) {
				changed := of[*tenurev1.CatalogOp](t, places[what].In(op))
				err := result(m.Txn(t.Context(), &tenurev1.TxnRequest{Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Catalog{Catalog: changed}}}}))
				if wantFieldNamed(t, what, "then[0]."+places[what].Path, err); err == nil {
					m.clear(t, query)
				}
			}
		})
	}
	for _, field := range fields.Unset(all...) {
		if !slices.Contains(onlyAnswered, field) && !strings.HasSuffix(field, ".options") {
			t.Errorf("this test gives %s no value", field)
		}
	}
}

// another is a field of a check beside the first, which is as that of the first.
var another = regexp.MustCompile(`^checks\[[1-9]\]\.`)

// placesIn are all hostile values in a message. Members do not look into definitions of checks, only at how long they are.
func placesIn(r proto.Message) map[string]fields.Place {
	places := fields.Places(r)
	maps.DeleteFunc(places, func(what string, at fields.Place) bool {
		if strings.Contains(at.Path, "definition.") {
			return !strings.HasSuffix(what, "100000 bytes")
		}
		return another.MatchString(at.Path)
	})
	return places
}

// clear registers the full node anew, and leaves nothing else but one query.
func (m *member) clear(t *testing.T, query string) {
	t.Helper()
	nodes, err := m.catalog().ListNodes(t.Context(), &tenurev1.ListNodesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.GetNodes() {
		if _, err = m.catalog().DeregisterNode(t.Context(), &tenurev1.DeregisterNodeRequest{Node: n.GetName()}); err != nil {
			t.Fatal(err)
		}
	}
	queries, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries.GetQueries() {
		if q.GetQueryId() == query {
			continue
		}
		if _, err = m.queries().DeleteQuery(t.Context(), &tenurev1.DeleteQueryRequest{QueryId: q.GetQueryId()}); err != nil {
			t.Fatal(err)
		}
	}
	m.register(t, fullNode, "", &tenurev1.Check{Name: "a", Status: passing})
}

// wantFieldNamed fails unless a call was taken, or refused with a reason; if as out of bounds, then by the field, or what it is in or has in it.
func wantFieldNamed(t *testing.T, what, path string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	switch code := status.Code(err); code {
	case codes.InvalidArgument:
		got := fieldOf(err)
		of := path[:max(strings.LastIndexByte(path, '.'), 0)]
		// A name of a node that others of the request contradict is refused there.
		named := strings.HasPrefix(path, index.ReplaceAllString(got, "")) || strings.HasPrefix(got, of) || path == "node.name" && strings.HasSuffix(got, "].node")
		if got == "" || !named {
			t.Errorf("%s: the error names %q: %v", what, got, err)
		}
	case codes.NotFound, codes.FailedPrecondition, codes.Aborted, codes.AlreadyExists:
		if infoOf(err).GetReason() == "" {
			t.Errorf("%s: the refusal has no reason: %v", what, err)
		}
	default:
		t.Errorf("%s: got %v", what, err)
	}
}

// isThereAsSaid registers again what was taken, and demands that this changes nothing.
func (m *member) isThereAsSaid(t *testing.T, what string, call fieldCall, r proto.Message) {
	t.Helper()
	if _, is := r.(*tenurev1.RegisterNodeRequest); !is {
		return
	}
	before := m.revision(t)
	if err := call.call(t, m, r); err != nil {
		t.Errorf("%s: it was taken once, and then refused: %v", what, err)
	}
	if after := m.revision(t); after != before {
		t.Errorf("%s: registering the same again went from revision %d to %d", what, before, after)
	}
}

// revision returns the revision of the store.
func (m *member) revision(t *testing.T) uint64 {
	t.Helper()
	nodes, err := m.catalog().ListNodes(t.Context(), &tenurev1.ListNodesRequest{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	return nodes.GetHeader().GetRevision()
}

// wantSameOverREST makes a call over REST, and demands that it ends as it did over gRPC. What has no JSON cannot be asked, and JSON has no
// number for what is no value of an enum.
func (m *member) wantSameOverREST(t *testing.T, what string, call fieldCall, r proto.Message, over error) {
	t.Helper()
	r = proto.Clone(r)
	for _, field := range call.pathFields {
		r.ProtoReflect().Clear(r.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(field)))
	}
	body, err := protojson.Marshal(r)
	if err != nil {
		return
	}
	request, err := http.NewRequestWithContext(t.Context(), call.method, (&url.URL{Scheme: "http", Host: m.at.HTTP, Path: call.path}).String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Error struct{ Code string }
	}
	if err = json.Unmarshal(text, &said); err != nil {
		t.Errorf("%s: not a JSON answer: %.300s", what, text)
	}
	asOver := over == nil && answer.StatusCode == http.StatusOK ||
		over != nil && answer.StatusCode != http.StatusOK && slices.Contains([]string{infoOf(over).GetReason(), "MALFORMED_REQUEST"}, said.Error.Code)
	if !asOver {
		t.Errorf("%s: over gRPC %v, over REST %d: %.300s", what, over, answer.StatusCode, text)
	}
}
