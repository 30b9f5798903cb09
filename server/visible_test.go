package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// shownMember is a member with what the onlookers look at.
type shownMember struct {
	*member
	admin  string
	tokens map[string]string // of the onlookers
	routes map[string]string
}

// newShownMember makes a member, what is there to be seen, and the onlookers.
func newShownMember(t *testing.T) *shownMember {
	t.Helper()
	adjust := alone
	if onAFollower(t) {
		adjust = newAuthority(t).securePeers
	}
	m := &shownMember{member: start(t, adjust), tokens: map[string]string{}, routes: routesOfREST(t, "", "")}
	m.admin = m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), m.admin)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range seenKeys {
		must(m.Put(ctx, &tenurev1.PutRequest{Key: key, Content: text(markOf(key))}))
	}
	for _, node := range seenNodes {
		r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: node, Meta: map[string]string{"k": markOf(node)}}}
		for _, i := range seenInstances {
			if strings.EqualFold(i.node, node) {
				r.Services = append(r.Services, &tenurev1.Service{ServiceId: i.id, Name: i.service, Tags: []string{markOf(i.id)}})
			}
		}
		for _, c := range seenChecks {
			if strings.EqualFold(c.node, node) {
				r.Checks = append(r.Checks, &tenurev1.Check{CheckId: c.id, Name: c.id, ServiceId: c.instance, Output: markOf(c.id)})
			}
		}
		must(m.catalog().RegisterNode(ctx, r))
	}
	for _, name := range seenQueries {
		must(m.queries().CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{
			Name: name, Service: "sape1", NodeMeta: map[string]string{"k": markOf(name)},
		}}))
	}
	all := onlookers()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		o, parent := all[name], ""
		if o.parent != nil {
			parent = m.token(t, m.admin, fmt.Sprint("parent", i), *o.parent).GetToken().GetAccessor()
		}
		policy := fmt.Sprint("onlooker", i)
		must(m.auth().PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: policy, Rules: o.rules}))
		made, err := m.auth().CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: policy, Policies: []string{policy}, Parent: parent})
		must(made, err)
		m.tokens[name] = made.GetText()
	}
	for _, s := range seenSessions {
		by := m.admin
		if s.own {
			by = m.tokens["its own"]
		}
		must(m.CreateSession(as(t.Context(), by), &tenurev1.CreateSessionRequest{
			Name: s.name, Node: s.node, Metadata: map[string]string{"k": markOf(s.name)},
		}))
	}
	return m
}

// methodOf returns a method by its name.
func methodOf(name string) protoreflect.MethodDescriptor { return servedMethods()[name] }

// ask makes the call of a list over gRPC or REST, and returns the answer with all that came with it as text.
func (m *shownMember) ask(ctx context.Context, t *testing.T, way, method, token string, request proto.Message) (proto.Message, string, error) {
	t.Helper()
	answer := newAnswer(methodOf(method))
	if way == "rest" {
		body, err := m.askREST(ctx, t, method, token, request)
		if err == nil {
			err = protojson.Unmarshal([]byte(body), answer)
		}
		return answer, body, err
	}
	var header, trailer metadata.MD
	err := m.conn.Invoke(as(ctx, token), "/tenure.v1."+method, request, answer, grpc.Header(&header), grpc.Trailer(&trailer))
	return answer, prototext.Format(answer) + prototext.Format(status.Convert(err).Proto()) + fmt.Sprint(header, trailer), err
}

// askREST makes a call whose path says what it asks for.
func (m *shownMember) askREST(ctx context.Context, t *testing.T, method, token string, request proto.Message) (string, error) {
	t.Helper()
	_, path, _ := strings.Cut(m.routes[string(methodOf(method).FullName())], " ")
	query := url.Values{}
	request.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		query.Set(f.JSONName(), v.String())
		return true
	})
	switch r := request.(type) {
	case *tenurev1.GetNodeRequest:
		path = "/v1/nodes/" + r.GetNode()
		query.Del("node")
	case *tenurev1.ListInstancesRequest:
		path = "/v1/services/" + r.GetService()
		query.Del("service")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.at.HTTP+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden:
		err = status.Error(codes.PermissionDenied, string(body))
	default:
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// set sets a field of a request, if it has that.
func set(m proto.Message, field protoreflect.Name, value any) {
	if f := m.ProtoReflect().Descriptor().Fields().ByName(field); f != nil {
		m.ProtoReflect().Set(f, protoreflect.ValueOf(value))
	}
}

// glance is what an onlooker got of all pages of a list.
type glance struct {
	items    []string
	filtered bool
	pages    int
	hidden   uint32
	text     string
}

// pageAnswer is a page of a list.
type pageAnswer interface {
	GetHeader() *tenurev1.ResponseHeader
	GetNextPageToken() string
}

// pages asks for page after page, until an error or the last one.
func (m *shownMember) pages(ctx context.Context, t *testing.T, way, method, token string, request proto.Message, items func(proto.Message) []string) (glance, error) {
	t.Helper()
	var l glance
	for first := true; ; first = false {
		answer, said, err := m.ask(ctx, t, way, method, token, request)
		l.text += said
		if err != nil {
			return l, err
		}
		page, is := answer.(pageAnswer)
		if !is {
			t.Fatalf("a %T is no page", answer)
		}
		header := page.GetHeader()
		if !first && header.GetFiltered() != l.filtered {
			t.Errorf("%s: one page is filtered, and another one is not", method)
		}
		l.pages++
		l.items, l.filtered, l.hidden = append(l.items, items(answer)...), header.GetFiltered(), l.hidden+header.GetHidden()
		next := page.GetNextPageToken()
		if next == "" {
			return l, nil
		}
		place, err := base64.RawURLEncoding.DecodeString(next)
		if err != nil {
			t.Fatal(err)
		}
		l.text += string(place)
		set(request, "page_token", next)
	}
}

// TestListsShowWhatTheirCallerSees asks for each list by callers with all kinds of rights, in pages of each size, and compares with a naive reading of their
// rules. What may not be seen is in no answer, header, token or error.
func TestListsShowWhatTheirCallerSees(t *testing.T) {
	m := newShownMember(t)
	all := onlookers()
	cases, filtered := 0, 0
	for _, list := range shownLists() {
		for name, o := range all {
			for _, size := range []uint32{1, 2, 1000} {
				for _, way := range []string{"grpc", "rest"} {
					if r, is := list.request.(*tenurev1.ListInstancesRequest); way == "rest" && (size == 2 || is && r.GetService() == "") {
						continue
					}
					what := fmt.Sprintf("%s{%v} by %s over %s, %d a page", list.method, list.request, name, way, size)
					if cases++; m.wantShown(t, what, list, name, o, size, way) {
						filtered++
					}
				}
			}
		}
	}
	t.Logf("%d lists were asked for, %d of them were shown in part", cases, filtered)
	if cases < 3000 || filtered < cases/3 {
		t.Errorf("only %d cases, %d of them in part", cases, filtered)
	}
}

// wantShown asks for a list and checks what an onlooker gets. It reports whether that is a part.
func (m *shownMember) wantShown(t *testing.T, what string, list shownList, name string, o onlooker, size uint32, way string) bool {
	t.Helper()
	request := proto.Clone(list.request)
	set(request, "page_size", size)
	set(request, "visible_only", true)
	got, err := m.pages(t.Context(), t, way, list.method, m.tokens[name], request, list.items)
	seen, all := list.shows(o)
	denied := !o.rule() || !list.named(o)
	if denied {
		seen = nil
	}
	for _, thing := range all {
		if strings.Contains(got.text, thing) && !slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, thing) }) {
			t.Errorf("%s: the answer has %s:\n%s", what, thing, got.text)
		}
	}
	if denied || err != nil {
		if status.Code(err) != codes.PermissionDenied || !denied {
			t.Errorf("%s: got %v, want denied: %v", what, err, denied)
		}
		return false
	}
	slices.Sort(got.items)
	slices.Sort(seen)
	if part := !list.whole(o); !slices.Equal(got.items, seen) || got.filtered != part {
		t.Errorf("%s: got %q, filtered: %v; want %q, %v", what, got.items, got.filtered, seen, part)
	}
	if most := max(1, (len(seen)+int(size)-1)/int(size)); got.filtered && got.pages != most && !selects(request) {
		t.Errorf("%s: there are %d pages, want %d: those without anything tell that something is hidden", what, got.pages, most)
	}
	keys, _ := request.(*tenurev1.ListRequest)
	if got.hidden > 0 && !keys.GetKeysOnly() && list.method != "SessionService/ListSessions" {
		t.Errorf("%s: it counts %d as hidden", what, got.hidden)
	}
	// Without the wish it is all or nothing.
	request = proto.Clone(list.request)
	set(request, "page_size", size)
	whole, err := m.pages(t.Context(), t, way, list.method, m.tokens[name], request, list.items)
	slices.Sort(whole.items)
	switch {
	case got.filtered && status.Code(err) != codes.PermissionDenied:
		t.Errorf("%s: without the wish got %v, want it denied", what, err)
	case !got.filtered && (err != nil || !slices.Equal(whole.items, got.items)):
		t.Errorf("%s: without the wish got %q, %v, want %q", what, whole.items, err, got.items)
	case whole.filtered:
		t.Errorf("%s: without the wish it is filtered", what)
	}
	return got.filtered
}

// selects reports whether a request has a filter that its pages are shorter by, whoever asks; or it takes no size of a page.
func selects(request proto.Message) bool {
	switch r := request.(type) {
	case *tenurev1.ListSessionsRequest:
		return r.GetNamePrefix() != "" || r.GetNode() != ""
	case *tenurev1.ListQueriesRequest:
		return r.GetNamePrefix() != ""
	case *tenurev1.ListChecksRequest:
		return r.GetService() != ""
	default:
		return r.ProtoReflect().Descriptor().Fields().ByName("page_size") == nil
	}
}

// TestListsShowAllUnlessRulesAreEnforced asks for each list in the other modes. What would be denied is counted in mode warn.
func TestListsShowAllUnlessRulesAreEnforced(t *testing.T) {
	m := newShownMember(t)
	everything := onlookers()["all"]
	everything.own = true
	for _, mode := range []tenurev1.AuthMode{modeWarn, tenurev1.AuthMode_AUTH_MODE_OFF} {
		if _, err := m.auth().SetAuthMode(as(t.Context(), m.admin), &tenurev1.SetAuthModeRequest{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		for _, list := range shownLists() {
			request := proto.Clone(list.request)
			set(request, "page_size", uint32(2))
			set(request, "visible_only", true)
			before := m.wouldDeny(t)
			got, err := m.pages(t.Context(), t, "grpc", list.method, m.tokens["one of each"], request, list.items)
			seen, _ := list.shows(everything)
			slices.Sort(seen)
			slices.Sort(got.items)
			if err != nil || got.filtered || !slices.Equal(got.items, seen) {
				t.Errorf("%v: %s{%v}: got %q, filtered: %v, %v; want %q", mode, list.method, list.request, got.items, got.filtered, err, seen)
			}
			one := onlookers()["one of each"]
			would := mode == modeWarn && (!list.whole(one) || !list.named(one))
			if counted := m.wouldDeny(t) != before; counted != would {
				t.Errorf("%v: %s{%v}: counted as would be denied: %v, want %v", mode, list.method, list.request, counted, would)
			}
		}
	}
}

// wouldDeny returns how many messages were counted that would be denied.
func (m *shownMember) wouldDeny(t *testing.T) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.at.HTTP+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+m.admin)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	_, count, found := strings.Cut(string(body), "\ntenure_access_would_deny_total ")
	if err != nil || !found {
		t.Fatalf("there is no such metric: %v", err)
	}
	count, _, _ = strings.Cut(count, "\n")
	return count
}
