package server_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// TestIncidentsOfOthers tries what went wrong in other systems, each under the name that it was published with. Those that need more are shown
// elsewhere:
//
//   - etcd CVE-2026-33413 and Consul CVE-2020-7955, calls that nobody checks: TestEveryMethodByEveryCallerOverEveryWay, TestNoUnlistedMessageGetsThrough
//   - etcd CVE-2023-32082, a lease shows the names of keys: TestASessionShowsNoKeysThatItsReaderMayNotSee
//   - etcd GHSA-vjg6-93fv-qv64, the wrong user in the log: TestAuditNamesTheCallerAndShowsNoSecret
//   - etcd CVE-2026-73500, handshakes that never end: TestSilentHandshakesDoNotDelayOthers
//   - Consul CVE-2021-37219, a client's certificate speaks raft: TestMembersProveWhoTheyAre
//   - etcd issues 13976 and 14571, "revision is old" and rights that differ among members: TestARevokedTokenDoesNothingThroughAnyMember,
//     TestManyEditsOfPoliciesAtOnce
//   - etcd issues 13975 and 14616, leases that never end: TestSessionsLiveOnWhileTokensEnd, and the simulator's checker ttl
//   - etcd CVE-2021-28235, a password in a debug log: wantNoCanary of the matrix
func TestIncidentsOfOthers(t *testing.T) {
	p := provide(t)
	if _, err := p.Put(p.admin, &tenurev1.PutRequest{Key: "a", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Put(p.admin, &tenurev1.PutRequest{Key: "b/1", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	foreign, err := p.CreateSession(p.admin, &tenurev1.CreateSessionRequest{Name: "foreign"})
	if err != nil {
		t.Fatal(err)
	}
	admin := p.bearer(t)
	exact := as(t.Context(), p.member.token(t, admin, "exact", `key "a" rw`).GetText())
	get := func(key string) *tenurev1.Op {
		return &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: key}}}
	}
	txn := func(r *tenurev1.TxnRequest) error { return second(p.Txn(exact, r)) }

	t.Run("etcd CVE-2026-33343, what is within a transaction is not checked", func(t *testing.T) {
		never := &tenurev1.Compare{Key: "a", Operator: tenurev1.CompareOperator_COMPARE_OPERATOR_EQUAL, Operand: &tenurev1.Compare_Version{Version: 99}}
		wantDenied(t, txn(&tenurev1.TxnRequest{Then: []*tenurev1.Op{get("a"), get("b/1")}}), `key "b/1" read`)
		wantDenied(t, txn(&tenurev1.TxnRequest{Then: []*tenurev1.Op{get("a")}, Otherwise: []*tenurev1.Op{get("b/1")}}), `key "b/1" read`)
		wantDenied(t, txn(&tenurev1.TxnRequest{Compares: []*tenurev1.Compare{never}, Then: []*tenurev1.Op{get("b/1")}}), `key "b/1" read`)
		other := proto.CloneOf(never)
		other.Key = "b/1"
		wantDenied(t, txn(&tenurev1.TxnRequest{Compares: []*tenurev1.Compare{other}, Then: []*tenurev1.Op{get("a")}}), `key "b/1" read`)
		if failed := txn(&tenurev1.TxnRequest{Then: []*tenurev1.Op{get("a")}}); failed != nil {
			t.Errorf("what the caller may: %v", failed)
		}
	})
	t.Run("etcd CVE-2026-44283, a put within a transaction is bound to another's lease", func(t *testing.T) {
		for _, put := range []*tenurev1.PutRequest{
			{Key: "a", Content: text("w"), BindSession: foreign.GetSessionId()},
			{Key: "a", Content: text("w"), Acquire: foreign.GetSessionId()},
		} {
			if failed := txn(&tenurev1.TxnRequest{Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Put{Put: put}}}}); status.Code(failed) != codes.PermissionDenied {
				t.Errorf("%v: got %v, want PERMISSION_DENIED", put, failed)
			}
		}
	})
	t.Run("Consul CVE-2021-38698, a transaction registers without rights", func(t *testing.T) {
		for _, op := range []*tenurev1.CatalogOp{
			{Kind: &tenurev1.CatalogOp_PutNode{PutNode: &tenurev1.Node{Name: "h1", Address: "192.0.2.1"}}},
			{Kind: &tenurev1.CatalogOp_PutService{PutService: &tenurev1.Service{Node: "h1", ServiceId: "s", Name: "web"}}},
			{Kind: &tenurev1.CatalogOp_Delete{Delete: &tenurev1.CatalogName{Node: "h1"}}},
			{Kind: &tenurev1.CatalogOp_Get{Get: &tenurev1.CatalogName{Node: "h1"}}},
		} {
			if failed := txn(&tenurev1.TxnRequest{Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Catalog{Catalog: op}}}}); status.Code(failed) != codes.PermissionDenied {
				t.Errorf("%v: got %v, want PERMISSION_DENIED", op, failed)
			}
		}
	})
	t.Run("etcd CVE-2026-73499, who reads one key watches all from it on", func(t *testing.T) {
		watcher := as(t.Context(), p.member.token(t, admin, "watcher", `key "a" ro`).GetText())
		for _, request := range []*tenurev1.WatchRequest{
			{RangeStart: "a"},
			{RangeStart: "a", RangeEnd: "b"},
			{RangeStart: "a", RangeEnd: "a\x00\x00"},
			{Prefixes: []string{"a"}},
			{Prefixes: []string{""}},
			{Keys: []string{"a"}, Prefixes: []string{"a"}},
			{Keys: []string{"a", "b/1"}},
			{LockPrefixes: []string{"a"}},
			{AllSessions: true},
		} {
			stream, failed := tenurev1.NewWatchServiceClient(p.conn).Watch(watcher, request)
			if failed == nil {
				_, failed = stream.Recv()
			}
			if status.Code(failed) != codes.PermissionDenied {
				t.Errorf("%v: got %v, want PERMISSION_DENIED", request, failed)
			}
		}
		if failed := second(p.List(watcher, &tenurev1.ListRequest{Prefix: "a"})); status.Code(failed) != codes.PermissionDenied {
			t.Errorf("a list of what begins like the key: got %v, want PERMISSION_DENIED", failed)
		}
	})
	t.Run("Consul CVE-2019-12291, a tree is deleted with the right to one key", func(t *testing.T) {
		for _, request := range []*tenurev1.DeletePrefixRequest{{Prefix: "a"}, {Prefix: "b/"}, {All: true}} {
			if failed := second(p.DeletePrefix(exact, request)); status.Code(failed) != codes.PermissionDenied {
				t.Errorf("%v: got %v, want PERMISSION_DENIED", request, failed)
			}
		}
	})
	t.Run("etcd PR 15677, a JWT without claims ends the server", func(t *testing.T) {
		encode := base64.RawURLEncoding.EncodeToString
		for _, token := range []string{
			p.Sign(map[string]any{}), p.Sign(nil), p.Sign(map[string]any{"sub": nil, "exp": "x"}), p.Sign(map[string]any{"sub": "project:web:1"}),
			encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(`null`)) + ".", encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{}`)) + ".",
			"..", "a.b.c",
		} {
			if failed := p.put(t.Context(), token); status.Code(failed) != codes.Unauthenticated {
				t.Errorf("%s: got %v, want UNAUTHENTICATED", token, failed)
			}
		}
	})
	t.Run("ZooKeeper ZOOKEEPER-3905, a session in spite of a credential that failed", func(t *testing.T) {
		for _, token := range []string{"x", identity.NewToken(), p.token("project:web:1", -time.Hour)} {
			if failed := second(p.CreateSession(as(t.Context(), token), &tenurev1.CreateSessionRequest{Name: "web"})); status.Code(failed) != codes.Unauthenticated {
				t.Errorf("got %v, want UNAUTHENTICATED", failed)
			}
		}
		all, failed := p.ListSessions(p.admin, &tenurev1.ListSessionsRequest{})
		if failed != nil || len(all.GetSessions()) != 1 {
			t.Errorf("got %v, %v, want the one session that there was", all, failed)
		}
	})
	t.Run("grpc-go CVE-2026-33186, a path without its slash passes by the checks", func(t *testing.T) {
		for _, path := range []string{"tenure.v1.KVService/Put", "//tenure.v1.KVService/Put", "/tenure.v1.KVService/Put/", "/tenure.v1.kvservice/Put", ""} {
			p.putAlong(t, path, &tenurev1.PutRequest{Key: "smuggled", Content: text("v")})
		}
		p.putAlong(t, "/tenure.v1.KVService/Put", &tenurev1.PutRequest{Key: "smuggled", Content: text("v")}) // As it should be, without a credential.
		if failed := second(p.Get(p.admin, &tenurev1.GetRequest{Key: "smuggled"})); status.Code(failed) != codes.NotFound {
			t.Errorf("got %v, want NOT_FOUND: a call without a credential was served", failed)
		}
	})
}

// bearer returns the text of a token with all rights.
func (p provided) bearer(t *testing.T) string {
	t.Helper()
	made, err := p.auth().CreateToken(p.admin, &tenurev1.CreateTokenRequest{Name: "another-admin", Policies: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetText()
}

// putAlong sends a call to a path as it is, without a credential, and waits until it is over or the connection is.
func (m *member) putAlong(t *testing.T, path string, put *tenurev1.PutRequest) {
	t.Helper()
	conn, err := net.Dial("tcp", m.at.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	message, err := proto.Marshal(put)
	if err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "tenure"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err = errors.Join(err, conn.SetDeadline(time.Now().Add(patience)), framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}),
		framer.WriteData(1, true, append([]byte{0, 0, 0, 0, byte(len(message))}, message...))); err != nil {
		t.Fatal(err)
	}
	for {
		frame, failed := framer.ReadFrame()
		if failed != nil {
			var late net.Error
			if errors.As(failed, &late) && late.Timeout() {
				t.Errorf("%q is never answered", path)
			}
			return
		}
		switch f := frame.(type) {
		case *http2.RSTStreamFrame:
			return
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				return
			}
		}
	}
}
