package consulhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// alone is a member without a leader that has something to show.
type alone struct {
	*island
	node string // the one that it knows
}

// newAlone returns one. It does not say the mode, either.
func newAlone() *alone {
	return &alone{island: &island{hangs: true, slow: time.Hour, lost: true}, node: "a"}
}

// Invoke answers a call.
func (a *alone) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if a.waits(request) {
		return a.island.Invoke(ctx, method, request, response, options...)
	}
	header := &tenurev1.ResponseHeader{Revision: 7, MemberId: 1}
	switch r := response.(type) {
	case *tenurev1.ListNodesResponse:
		r.Header, r.Nodes = header, []*tenurev1.Node{{Name: a.node}, {Name: "node-1"}}
	case *tenurev1.GetNodeResponse:
		get, ok := request.(*tenurev1.GetNodeRequest)
		if !ok || get.GetNode() != a.node {
			s, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "it knows no such node"), "")
			return s.Err()
		}
		r.Header, r.Node = header, &tenurev1.Node{Name: a.node}
	case *tenurev1.ListInstancesResponse:
		r.Header, r.Instances = header, []*tenurev1.ServiceInstance{{Node: &tenurev1.Node{Name: a.node}, Service: &tenurev1.Service{Name: "web"}}}
	case *tenurev1.ExecuteQueryResponse:
		r.Header, r.Service = header, "web"
	case *tenurev1.ListSessionsResponse:
		r.Header = header
		if list, ok := request.(*tenurev1.ListSessionsRequest); ok {
			r.Sessions = []*tenurev1.Session{{SessionId: idA, Node: list.GetNode()}}
		}
	case *tenurev1.GetStatusResponse:
		return status.Error(codes.PermissionDenied, "it says that to nobody")
	default:
		return a.island.Invoke(ctx, method, request, response, options...)
	}
	return nil
}

// TestStaleReadsNeedNoLeader reads from a member without one: all that it has is shown, within the second for which a stale read asks for the leader.
func TestStaleReadsNeedNoLeader(t *testing.T) {
	for _, path := range []string{
		"kv/a?stale", "catalog/nodes?stale", "catalog/nodes?stale&near=a", "catalog/nodes?stale&near=_agent", "catalog/service/web?stale&near=_agent",
		"health/service/web?stale&near=_agent", "query/web/execute?stale", "session/node/a?stale", "session/node/node-2?stale",
	} {
		for name, agent := range map[string]consulhttp.Agent{"a member": nil, "an agent": machine{}} {
			t.Run(path+" at "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, err := consulhttp.New(consulhttp.Options{Conn: newAlone(), Agent: agent, Member: "node-1"})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					w, began := httptest.NewRecorder(), time.Now()
					h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/"+path, nil))
					if took := time.Since(began); w.Code != 200 || took > time.Second {
						t.Errorf("got %d %s after %v, want 200 within a second", w.Code, w.Body, took)
					}
					if known := w.Header().Get("X-Consul-KnownLeader"); known != "false" {
						t.Errorf("X-Consul-KnownLeader is %q, want false", known)
					}
				})
			})
		}
	}
}

// TestAMembersSessionsAreFoundWithoutALeader asks a member without one for the sessions of another, which is no node.
func TestAMembersSessionsAreFoundWithoutALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := consulhttp.New(consulhttp.Options{Conn: newAlone(), Member: "node-1"})
		if err != nil {
			t.Fatal(err)
		}
		w, began := httptest.NewRecorder(), time.Now()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/session/node/node-2?stale", nil))
		if took := time.Since(began); w.Code != 200 || !strings.Contains(w.Body.String(), `"Node":"node-2"`) || took > time.Second {
			t.Errorf("got %d %s after %v, want the sessions of node-2 within a second", w.Code, w.Body, took)
		}
	})
}

// vastAlone is a member without a leader whose keys are three pages.
type vastAlone struct {
	*alone
	moves bool // it applies a change before the last page
}

// Invoke answers a call.
func (v *vastAlone) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	list, ok := request.(*tenurev1.ListRequest)
	answer, _ := response.(*tenurev1.ListResponse)
	if !ok || v.waits(request) {
		return v.alone.Invoke(ctx, method, request, response, options...)
	}
	answer.Header = &tenurev1.ResponseHeader{Revision: 7}
	switch list.GetPageToken() {
	case "":
		answer.Kvs, answer.NextPageToken = []*tenurev1.KeyValue{{Key: "a"}}, "second"
	case "second":
		answer.Kvs, answer.NextPageToken = []*tenurev1.KeyValue{{Key: "b"}}, "third"
	case "third":
		answer.Kvs = []*tenurev1.KeyValue{{Key: "c"}}
		if v.moves {
			answer.Header.Revision = 8
		}
	}
	return nil
}

// NewStream opens a watch that waits for a leader before it begins.
func (*vastAlone) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &unbegun{changedOnce{ctx: ctx}}, nil
}

// unbegun is a watch that does not begin.
type unbegun struct{ changedOnce }

// RecvMsg returns when the watch has ended.
func (u *unbegun) RecvMsg(any) error {
	<-u.ctx.Done()
	return status.FromContextError(u.ctx.Err()).Err()
}

// TestLongStaleListsNeedNoLeader reads more than a page of keys from a member without a leader: all are of one revision, or the answer is not whole.
func TestLongStaleListsNeedNoLeader(t *testing.T) {
	for name, test := range map[string]struct {
		agent consulhttp.Agent
		moves bool
	}{
		"a member that stands still":   {},
		"an agent":                     {agent: machine{}},
		"a member that applies more":   {moves: true},
		"an agent that changes member": {agent: machine{}, moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := consulhttp.New(consulhttp.Options{Conn: &vastAlone{newAlone(), test.moves}, Agent: test.agent, Member: "node-1"})
				if err != nil {
					t.Fatal(err)
				}
				w, began := httptest.NewRecorder(), time.Now()
				defer func() {
					cut := recover()
					if err, _ := cut.(error); errors.Is(err, http.ErrAbortHandler) != test.moves || (cut != nil) != test.moves {
						t.Errorf("the answer ended with %v, want that it is cut: %v", cut, test.moves)
					}
					if took := time.Since(began); took > time.Second || w.Header().Get("X-Consul-KnownLeader") != "false" || w.Header().Get("X-Consul-Index") != "7" {
						t.Errorf("got %v after %v, want the index 7, without a leader, within a second", w.Header(), took)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/kv/?keys&stale", nil))
				if w.Code != 200 || w.Body.String() != list("a", "b", "c") {
					t.Errorf("got %d %s, want all keys", w.Code, w.Body)
				}
			})
		})
	}
}
