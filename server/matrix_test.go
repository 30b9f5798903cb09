package server_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/issuer"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// mark is in what callers of the matrix may not see, and in no log.
const mark = "mark-0190b5a4-7c3f"

// freeMethods need nothing, and rightMethods any right at all; every other method needs a right of its own.
var (
	freeMethods  = []string{"AuthService/BootstrapAuth", "AuthService/ResetAuth"}
	rightMethods = []string{"ClusterService/ListMembers", "AuthService/WhoAmI", "AuthService/CheckAccess"}
)

// servedMethods returns the methods that members serve, but for lines, which are a way to call others.
func servedMethods() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if name := service.Name(); name != "AgentService" && name != "LineService" {
					m := service.Methods().Get(j)
					out[string(name)+"/"+string(m.Name())] = m
				}
			}
		}
		return true
	})
	return out
}

// asking returns a request of a method, about what the matrix has made. It names no token of its caller, so that none changes itself.
func asking(t *testing.T, method protoreflect.MethodDescriptor, session, query string) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New()
	for name, value := range map[protoreflect.Name]string{
		"key": "secret/a", "prefix": "secret/", "session_id": session, "node": "h1", "name": "x", "service": "web", "rule": `key "a" read`,
		"accessor": "0190b5a4-0000-7000-8000-000000000000", "check_id": "c", "service_id": "s",
		"query_id": query, "id_or_name": "x",
	} {
		if f := m.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind {
			m.Set(f, protoreflect.ValueOfString(value))
		}
	}
	if f := m.Descriptor().Fields().ByName("renewals"); f != nil {
		m.Set(f, protoreflect.ValueOfList((&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{
			{SessionId: session, Number: 1},
		}}).ProtoReflect().Get(f).List()))
	}
	switch r := m.Interface().(type) {
	case *tenurev1.TxnRequest: // An empty one needs nothing.
		r.Then = []*tenurev1.Op{{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: "secret/a"}}}}
	case *tenurev1.CreateQueryRequest:
		r.Query = &tenurev1.Query{Name: "x", Service: "web"}
	case *tenurev1.UpdateQueryRequest:
		r.Query = &tenurev1.Query{Name: "x", Service: "web"}
	case *tenurev1.CheckSequencerRequest:
		r.Proof = &tenurev1.CheckSequencerRequest_Text{Text: "x"}
	}
	return m.Interface()
}

// bodies are what calls of REST send that need more than their path says.
var bodies = map[string]string{
	"tenure.v1.KVService.Put": `{"text":"v"}`, "tenure.v1.KVService.Txn": `{"then":[{"get":{"key":"secret/a"}}]}`,
	"tenure.v1.QueryService.CreateQuery": `{"query":{"name":"x","service":"web"}}`,
	"tenure.v1.QueryService.UpdateQuery": `{"query":{"name":"x","service":"web"}}`,
}

// seen is what a caller got: the code of the answer, and all that was in it.
type seen struct {
	code codes.Code
	text string
}

// over returns what a caller sees of a call.
func (m *matrixMember) over(t *testing.T, way string, method protoreflect.MethodDescriptor, token string) (seen, bool) {
	t.Helper()
	request := asking(t, method, m.session, m.query)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	switch way {
	case "grpc":
		return m.overGRPC(as(ctx, token), method, request), true
	case "line":
		return m.overLine(ctx, t, request, token)
	default:
		return m.overREST(ctx, t, method, token)
	}
}

// overGRPC makes a call of its own, and takes one message of what a stream sends.
func (m *matrixMember) overGRPC(ctx context.Context, method protoreflect.MethodDescriptor, request proto.Message) seen {
	name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	answer := newAnswer(method)
	stream, err := m.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil || err == io.EOF { //nolint:errorlint // gRPC returns it as it is.
		if !method.IsStreamingClient() {
			_ = stream.CloseSend()
		}
		err = stream.RecvMsg(answer)
	}
	if renewed, ok := answer.(*tenurev1.KeepAliveResponse); ok && len(renewed.GetVerdicts()) == 1 { // A renewal is denied alone.
		if renewed.GetVerdicts()[0].GetRefused() == tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED {
			err = status.Error(codes.PermissionDenied, "the renewal is denied")
		}
	}
	return seen{status.Code(err), prototext.Format(answer) + prototext.Format(status.Convert(err).Proto())}
}

func newAnswer(method protoreflect.MethodDescriptor) proto.Message {
	kind, _ := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	return kind.New().Interface()
}

// overLine makes the call on a line of its own. It reports false if lines do not carry it.
func (m *matrixMember) overLine(ctx context.Context, t *testing.T, request proto.Message, token string) (seen, bool) {
	t.Helper()
	call := &tenurev1.LineCall{Number: 1, Credential: 1, CreditMessages: 10, CreditBytes: 1 << 20}
	carried := false
	fields := call.ProtoReflect().Descriptor().Oneofs().ByName("request").Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message() == request.ProtoReflect().Descriptor() {
			call.ProtoReflect().Set(fields.Get(i), protoreflect.ValueOfMessage(request.ProtoReflect()))
			carried = true
		}
	}
	if !carried {
		return seen{}, false
	}
	line, err := tenurev1.NewLineServiceClient(m.conn).Line(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err = line.Send(&tenurev1.LineRequest{
		Credentials: []*tenurev1.LineCredential{{Number: 1, Token: token}}, Calls: []*tenurev1.LineCall{call},
	}); err != nil {
		t.Fatal(err)
	}
	for {
		response, failed := line.Recv()
		if failed != nil {
			return seen{status.Code(failed), failed.Error()}, true
		}
		for _, a := range response.GetAnswers() {
			return seen{codes.Code(a.GetStatus().GetCode()), prototext.Format(response)}, true
		}
		if len(response.GetParts()) > 0 {
			return seen{codes.OK, prototext.Format(response)}, true
		}
	}
}

// overREST makes the call as the table of REST says. It reports false if it has none.
func (m *matrixMember) overREST(ctx context.Context, t *testing.T, method protoreflect.MethodDescriptor, token string) (seen, bool) {
	t.Helper()
	route, known := m.routes[string(method.FullName())]
	if !known {
		return seen{}, false
	}
	verb, path, _ := strings.Cut(route, " ")
	body := io.Reader(http.NoBody)
	if verb != http.MethodGet && verb != http.MethodDelete {
		body = strings.NewReader(cmp.Or(bodies[string(method.FullName())], "{}"))
	}
	r, err := http.NewRequestWithContext(ctx, verb, "http://"+m.at.HTTP+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text := make([]byte, 64<<10)
	n, _ := io.ReadAtLeast(answer.Body, text, 1) // A stream does not end.
	code := codes.OK
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		code = codes.Unauthenticated
	case http.StatusForbidden:
		code = codes.PermissionDenied
	}
	return seen{code, string(text[:n])}, true
}

// routesOfREST returns the verb and path of each method that REST has, with names of the matrix in the place of variables.
func routesOfREST(t *testing.T, session, query string) map[string]string {
	t.Helper()
	table, err := os.ReadFile("../proto/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	routes, selector := map[string]string{}, ""
	for line := range strings.Lines(string(table)) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")), ": ")
		switch name {
		case "selector":
			selector = value
		case "get", "put", "post", "delete", "patch":
			for open := strings.IndexByte(value, '{'); open >= 0; open = strings.IndexByte(value, '{') {
				end := strings.IndexByte(value, '}')
				variable, _, _ := strings.Cut(value[open+1:end], "=")
				with := "x"
				switch variable {
				case "session_id":
					with = session
				case "query_id":
					with = query
				case "key":
					with = "secret/a"
				case "member_id":
					with = "77"
				}
				value = value[:open] + with + value[end+1:]
			}
			if routes[selector] == "" {
				routes[selector] = strings.ToUpper(name) + " " + value
			}
		}
	}
	return routes
}

// matrixMember is a member with something in it that not everybody may see.
type matrixMember struct {
	*member
	session string
	query   string // the id of the query x
	routes  map[string]string
	tokens  map[string]string // by the kind of caller
}

// newMatrixMember makes a member with canaries, and callers of each kind.
func newMatrixMember(t *testing.T, lines *auditLines) *matrixMember {
	t.Helper()
	adjust := audited(lines, "denied", "admin", "changes", "reads")
	if onAFollower(t) { // It relays changes to the leader.
		recorded, secure := adjust, newAuthority(t).securePeers
		adjust = func(c *server.Config) {
			address := c.PeerAddr
			recorded(c)
			c.PeerAddr = address
			secure(c)
		}
	}
	m := &matrixMember{member: start(t, adjust)}
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "secret", Metadata: map[string]string{"k": mark}})
	if err != nil {
		t.Fatal(err)
	}
	m.session = s.GetSessionId()
	q, err := tenurev1.NewQueryServiceClient(m.conn).CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{
		Name: "x", Service: "web", NodeMeta: map[string]string{"k": mark},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m.query = q.GetQueryId()
	if _, err = m.Put(ctx, &tenurev1.PutRequest{Key: "secret/a", Content: text(mark)}); err != nil {
		t.Fatal(err)
	}
	if _, err = tenurev1.NewCatalogServiceClient(m.conn).RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
		Node:     &tenurev1.Node{Name: "h1", NodeId: "0190b5a4-0000-7000-8000-000000000001", Address: "10.0.0.1", Meta: map[string]string{"k": mark}},
		Services: []*tenurev1.Service{{ServiceId: "s", Name: "web"}},
	}); err != nil {
		t.Fatal(err)
	}
	m.routes = routesOfREST(t, m.session, m.query)
	revoked := m.token(t, admin, "revoked", "key * rw")
	if _, err = m.auth().RevokeToken(ctx, &tenurev1.RevokeTokenRequest{Accessor: revoked.GetToken().GetAccessor()}); err != nil {
		t.Fatal(err)
	}
	i := issuer.New()
	keys := httptest.NewServer(i)
	t.Cleanup(keys.Close)
	i.At(keys.URL)
	if _, err = m.auth().PutProvider(ctx, &tenurev1.PutProviderRequest{Name: "ci", Issuer: i.URL(), Audiences: []string{issuer.Audience}}); err != nil {
		t.Fatal(err)
	}
	m.tokens = map[string]string{
		"nobody": "", "a bad token": "tnr1_x", "an unknown token": identity.NewToken(), "a revoked token": revoked.GetText(),
		"an expired token": i.Sign(map[string]any{"sub": "x", "exp": time.Now().Add(-time.Hour).Unix()}),
		"another's rights": m.token(t, admin, "other", "query \"other-\"* write\nkey \"other/\"* rw\nsession \"other-\"* write").GetText(),
		"no rights":        m.token(t, admin, "none", "").GetText(),
		"admin":            admin,
	}
	return m
}

// expected returns what a caller of a kind gets of a method, where rules are enforced; OK for whatever is no refusal.
func expected(who, method string, mode tenurev1.AuthMode) codes.Code {
	free, right := slices.Contains(freeMethods, method), slices.Contains(rightMethods, method)
	switch guarded := mode == modeEnforce || strings.HasPrefix(method, "AuthService/"); {
	case !guarded, free, who == "admin":
		return codes.OK
	case strings.HasSuffix(who, " token"):
		return codes.Unauthenticated
	case right && who == "another's rights":
		return codes.OK
	default:
		return codes.PermissionDenied
	}
}

// TestEveryMethodByEveryCallerOverEveryWay makes a call of each method that there is, by each kind of caller, as a call of its own, on a
// line and over REST, in each mode. A caller that is refused sees nothing of what is there, and neither does any log.
func TestEveryMethodByEveryCallerOverEveryWay(t *testing.T) {
	lines := newAuditLines()
	m := newMatrixMember(t, lines)
	all := servedMethods()
	cases, refused := 0, 0
	for _, mode := range []tenurev1.AuthMode{modeEnforce, modeWarn, tenurev1.AuthMode_AUTH_MODE_OFF} {
		if _, err := m.auth().SetAuthMode(as(t.Context(), m.tokens["admin"]), &tenurev1.SetAuthModeRequest{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, who := range slices.Sorted(maps.Keys(m.tokens)) {
				want := expected(who, name, mode)
				if want == codes.OK && (who == "admin" || mode != modeEnforce) && changesTheMatrix(name) {
					continue
				}
				for _, way := range []string{"grpc", "line", "rest"} {
					got, carried := m.over(t, way, all[name], m.tokens[who])
					if !carried {
						continue
					}
					cases++
					is := got.code
					if is != codes.PermissionDenied && is != codes.Unauthenticated {
						is = codes.OK
					}
					if is != want {
						t.Errorf("%v: %s of %s over %s: got %v, want %v\n%.500s", mode, who, name, way, got.code, want, got.text)
					}
					if want != codes.OK {
						refused++
						if strings.Contains(got.text, mark) {
							t.Errorf("%v: %s of %s over %s: the refusal shows what is there: %s", mode, who, name, way, got.text)
						}
					}
				}
			}
		}
	}
	m.wantNoCanary(t, lines)
	t.Logf("%d cases of %d methods by %d callers, %d of them refused", cases, len(all), len(m.tokens), refused)
	if cases < 10*len(all) || refused < 5*len(all) {
		t.Errorf("there were only %d cases, of which %d were refused", cases, refused)
	}
}

// changesTheMatrix reports whether an allowed call would change what the other cases need, or may take long.
func changesTheMatrix(method string) bool {
	return slices.Contains([]string{
		"SessionService/DestroySession", "AuthService/SetAuthMode", "CatalogService/DeregisterNode", "CatalogService/DeregisterService",
		"KVService/Put", "KVService/Delete", "KVService/DeletePrefix", "PoolService/ForceLeave", "WatchService/Watch", "ElectionService/Observe",
		"LockService/AcquireLock", "ElectionService/Campaign", "ClusterService/AddMember", "ClusterService/TransferLeadership", "QueryService/UpdateQuery", "QueryService/DeleteQuery",
	}, method)
}

// wantNoCanary looks for values and tokens in the member's logs.
func (m *matrixMember) wantNoCanary(t *testing.T, lines *auditLines) {
	t.Helper()
	secrets := []string{mark}
	for _, token := range m.tokens {
		if token != "" {
			secrets = append(secrets, token)
		}
	}
	var logged bytes.Buffer
	for _, entry := range m.logs.All() {
		fmt.Fprintln(&logged, entry.Message, entry.ContextMap())
	}
	for _, secret := range secrets {
		if i := strings.Index(logged.String(), secret); i >= 0 {
			t.Errorf("the log has %.20s…: %.200s", secret, logged.String()[max(0, i-100):])
		}
		if strings.Contains(lines.String(), secret) {
			t.Errorf("the audit log has %.20s…", secret)
		}
	}
	if lines.String() == "" || logged.Len() == 0 {
		t.Error("there is no log to look at")
	}
}
