package consulhttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAPutOfAnEqualValueIsAChange puts, compares and acquires with what is there already: the index moves, and a wait ends.
func TestAPutOfAnEqualValueIsAChange(t *testing.T) {
	r := newRig(t)
	id := r.session("")
	r.want("PUT", "/v1/kv/a?acquire="+id, "1", 200, "true")
	for _, query := range []string{"", "?cas=", "?acquire=" + id} {
		at := r.row("a").ModifyIndex
		if query == "?cas=" {
			query += fmt.Sprint(at)
		}
		waiting := r.block(fmt.Sprintf("/v1/kv/a?index=%d&wait=10m", at))
		r.awaitBlocked(1)
		r.want("PUT", "/v1/kv/a"+query, "1", 200, "true")
		if got := await(t, waiting); got.index(t) != at+1 {
			t.Errorf("%s: the index was %d, and is %d", query, at, got.index(t))
		}
	}
}

// TestLockIndexIsKept writes and deletes a key whose lock is in use: its holders stay in order.
func TestLockIndexIsKept(t *testing.T) {
	r := newRig(t)
	sessions, locks := tenurev1.NewSessionServiceClient(r.grpc), tenurev1.NewLockServiceClient(r.grpc)
	one := r.session("")
	index := func(what string, want uint64) {
		t.Helper()
		if got := r.row("l").LockIndex; got != want {
			t.Errorf("after %s LockIndex is %d, want %d", what, got, want)
		}
	}
	r.want("PUT", "/v1/kv/l?acquire="+one, "", 200, "true")
	r.want("PUT", "/v1/kv/l?release="+one, "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+one, "", 200, "true")
	index("the second time that it was taken", 2)
	r.want("PUT", "/v1/kv/l", "x", 200, "true")
	index("a put", 2)
	r.want("PUT", fmt.Sprintf("/v1/kv/l?cas=%d", r.row("l").ModifyIndex), "y", 200, "true")
	index("a cas", 2)
	made, err := sessions.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	waits, err := locks.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{Key: "l", SessionId: made.GetSessionId()})
	if err != nil {
		t.Fatal(err)
	}
	if queued, recvErr := waits.Recv(); recvErr != nil || queued.GetQueued() == nil {
		t.Fatalf("got %v, %v, want a place in the queue", queued, recvErr)
	}
	// The client of Consul releases, and the queue goes on, whoever asks first.
	r.want("PUT", "/v1/kv/l?release="+one, "", 200, "true")
	if granted, recvErr := waits.Recv(); recvErr != nil || granted.GetGranted() == nil {
		t.Fatalf("got %v, %v, want the lock", granted, recvErr)
	}
	r.want("PUT", "/v1/kv/l?acquire="+one, "", 200, "false")
	index("the next one in the queue took it", 3)
	if got := r.row("l").Session; got != made.GetSessionId() {
		t.Errorf("the session is %q, want that of the next one in the queue", got)
	}
	r.want("DELETE", "/v1/kv/l", "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+one, "", 200, "true")
	r.want("PUT", "/v1/kv/other?acquire="+one, "", 200, "true")
	if got := r.row("other").LockIndex; got != 1 {
		t.Errorf("LockIndex of another key is %d, want 1", got)
	}
}

// TestLocksOfOtherKindsAreBusy asks for locks that clients of Tenure share, or use as semaphores.
func TestLocksOfOtherKindsAreBusy(t *testing.T) {
	r := newRig(t)
	sessions, locks := tenurev1.NewSessionServiceClient(r.grpc), tenurev1.NewLockServiceClient(r.grpc)
	made, err := sessions.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	id := r.session("")
	for key, ask := range map[string]*tenurev1.TryAcquireLockRequest{
		"shared":    {Mode: tenurev1.LockMode_LOCK_MODE_SHARED},
		"semaphore": {Mode: tenurev1.LockMode_LOCK_MODE_SEMAPHORE, Limit: 3},
	} {
		ask.Key, ask.SessionId = key, made.GetSessionId()
		if held, err := locks.TryAcquireLock(t.Context(), ask); err != nil || held.GetHold() == nil {
			t.Fatalf("%s: got %v, %v", key, held, err)
		}
		r.want("PUT", "/v1/kv/"+key+"?acquire="+id, "", 200, "false")
		r.want("PUT", "/v1/kv/"+key+"?release="+id, "", 200, "false")
		got := r.txn(409, `"Verb":"lock","Key":"`+key+`","Session":"`+id+`"`)
		if len(got.Errors) != 1 || !strings.Contains(got.Errors[0].What, "lock is already held") {
			t.Errorf("%s: got %v", key, got.Errors)
		}
	}
}

// refusing is a member that refuses puts, or operations of transactions, for a reason.
type refusing struct {
	*island
	why tenurev1.ErrorReason
}

// Invoke answers a call.
func (f *refusing) Invoke(_ context.Context, _ string, request, _ any, _ ...grpc.CallOption) error {
	e := reason.New(f.why, "it refuses")
	if _, ok := request.(*tenurev1.TxnRequest); ok {
		e = reason.New(tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "it refuses").With("operations", "0:"+reason.Name(f.why))
	}
	s, _ := reason.Status(e, "")
	return s.Err()
}

// TestLocksThatAreNotToBeHadAreBusy asks for locks that are not granted for a while, or that are of another kind.
func TestLocksThatAreNotToBeHadAreBusy(t *testing.T) {
	for why, what := range map[tenurev1.ErrorReason]string{
		tenurev1.ErrorReason_ERROR_REASON_FROZEN: "lock is already held", tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH: "lock is already held",
	} {
		h, err := consulhttp.New(consulhttp.Options{Conn: &refusing{island: &island{leader: true}, why: why}})
		if err != nil {
			t.Fatal(err)
		}
		send := func(path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PUT", path, strings.NewReader(body)))
			return w
		}
		if got := send("/v1/kv/a?acquire="+idA, ""); got.Code != 200 || got.Body.String() != "false" {
			t.Errorf("%v: got %d %s, want false", why, got.Code, got.Body)
		}
		got := send("/v1/txn", `[{"KV":{"Verb":"lock","Key":"a","Session":"`+idA+`"}}]`)
		if got.Code != 409 || !strings.Contains(got.Body.String(), what) {
			t.Errorf("%v in a transaction: got %d %s, want 409 with %s", why, got.Code, got.Body, what)
		}
	}
}

// TestTheHeaderSaysWhatRulesCover lists for callers whose rules do not cover all that they ask for, or do, whether or not there is anything that they may not
// see: the header follows from the rules.
func TestTheHeaderSaysWhatRulesCover(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/kv/a/1", "1", 200, "true")
	show := shows(r.bootstrap("key \"a/\"* rw\nkey \"b/\"* rw\n"))
	for range 2 {
		for path, part := range map[string]bool{"kv/?keys": true, "kv/a?keys": true, "kv/a/?keys": false, "kv/c?keys": true, "kv/b/?keys": false, "catalog/nodes": true, "query": true} {
			got := r.sendAs("GET", "/v1/"+path, "", show)
			if got.status == 403 || (got.header.Get(filteredHeader) == "true") != part {
				t.Errorf("%s: got %d %v %s, want a part: %v", path, got.status, got.header, got.body, part)
			}
		}
		r.sendAs("PUT", "/v1/kv/b/1", "1", show)
	}
}
