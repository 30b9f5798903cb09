package consulhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// fill puts so many keys with a prefix, by transactions of as many operations as there may be, or as their results have room for.
func (r *rig) fill(prefix string, n int) {
	r.t.Helper()
	each := min(128, 128*128/len(prefix))
	for first := 0; first < n; first += each {
		var ops []string
		for i := range min(each, n-first) {
			ops = append(ops, fmt.Sprintf(`{"KV":{"Verb":"set","Key":"%s%05d"}}`, prefix, first+i))
		}
		if got := r.send("PUT", "/v1/txn", "["+strings.Join(ops, ",")+"]"); got.status != 200 {
			r.t.Fatalf("a transaction of %d operations: got %d %s", len(ops), got.status, got.body)
		}
	}
}

// TestATransactionShowsOnlySoManyKeys reads prefixes of as many keys as there may be, and of one more.
func TestATransactionShowsOnlySoManyKeys(t *testing.T) {
	r := newRig(t)
	r.fill("many/", 1000)
	const op = `[{"KV":{"Verb":"get-tree","Key":"many/"}}]`
	got := r.send("PUT", "/v1/txn", op)
	var all txnAnswer
	if err := json.Unmarshal([]byte(got.body), &all); err != nil || got.status != 200 || len(all.Results) != 1000 {
		t.Fatalf("got %d with %d results, %v", got.status, len(all.Results), err)
	}
	r.want("PUT", "/v1/kv/many/x", "", 200, "true")
	r.want("PUT", "/v1/txn", op, 413, `Prefix "many/" has more than 1000 keys; read it with ?recurse.`)
	long := strings.Repeat("l", 300)
	r.fill(long, 1001)
	r.want("PUT", "/v1/txn", strings.ReplaceAll(op, "many/", long), 413,
		`Prefix "`+long[:256]+`..." has more than 1000 keys; read it with ?recurse.`)
}

// TestManyKeysAreDeletedInSteps deletes one key more than a step may. A transaction is one step, and deletes none.
func TestManyKeysAreDeletedInSteps(t *testing.T) {
	r := newRig(t)
	const n = 10_001
	r.fill("many/", n)
	r.want("PUT", "/v1/kv/others", "1", 200, "true")
	revision := r.send("GET", "/v1/session/list", "").index(t)
	r.want("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"a"}},{"KV":{"Verb":"delete-tree","Key":"many/"}}]`, 409,
		`{"Results":null,"Errors":[{"OpIndex":1,"What":"failed to delete prefix \"many/\", it has more than 10000 keys"}]}`)
	if now := r.send("GET", "/v1/session/list", "").index(t); now != revision {
		t.Errorf("a transaction that failed changed something: the revision was %d, and is %d", revision, now)
	}
	r.want("DELETE", "/v1/kv/many/?recurse", "", 200, "true")
	r.want("GET", "/v1/kv/?keys", "", 200, list("others"))
	if now := r.send("GET", "/v1/session/list", "").index(t); now != revision+2 {
		t.Errorf("it took %d steps, want 2", now-revision)
	}
}

// stepped deletes prefixes as a member does that allows so many keys a step.
type stepped struct {
	*island
	keys, most int
	asked      []uint32
}

// Invoke answers a call.
func (s *stepped) Invoke(_ context.Context, _ string, request, response any, _ ...grpc.CallOption) error {
	r, ok := request.(*tenurev1.DeletePrefixRequest)
	answer, answered := response.(*tenurev1.DeletePrefixResponse)
	if !ok || !answered || !r.GetDropHolds() || r.GetAll() != (r.GetPrefix() == "") {
		return fmt.Errorf("it answers no call %v", request)
	}
	s.asked = append(s.asked, r.GetKeysMax())
	if int(r.GetKeysMax()) > s.most {
		refused, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the holds of these keys are too many"), "")
		return refused.Err()
	}
	answer.Deleted = min(uint32(s.keys), r.GetKeysMax())
	s.keys -= int(answer.GetDeleted())
	return nil
}

// TestStepsThatAreTooLargeBecomeSmaller deletes keys whose holds are more than a step may free: with half as many, and half of that.
func TestStepsThatAreTooLargeBecomeSmaller(t *testing.T) {
	for name, c := range map[string]struct {
		keys, most int
		status     int
		text       string
		asked      []uint32
	}{
		"as many as there may be": {9999, 10_000, 200, "true", []uint32{10_000}},
		"half as many":            {5001, 5000, 200, "true", []uint32{10_000, 5000, 5000}},
		"a quarter":               {5000, 3000, 200, "true", []uint32{10_000, 5000, 2500, 2500, 2500}},
		"not even one":            {5, 0, 413, "the holds of these keys are too many", []uint32{10_000, 5000, 2500, 1250, 625, 312, 156, 78, 39, 19, 9, 4, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &stepped{island: &island{leader: true}, keys: c.keys, most: c.most}
			h, err := consulhttp.New(consulhttp.Options{Conn: m})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "DELETE", "/v1/kv/many/?recurse", nil))
			if w.Code != c.status || w.Body.String() != c.text || !slices.Equal(m.asked, c.asked) {
				t.Errorf("got %d %s after %v, want %d %s after %v", w.Code, w.Body, m.asked, c.status, c.text, c.asked)
			}
		})
	}
}

// changing is a member whose key comes and goes whenever it is looked at.
type changing struct {
	*island
	there bool
	tries int
}

// Invoke answers a call.
func (c *changing) Invoke(_ context.Context, _ string, request, response any, _ ...grpc.CallOption) error {
	switch request.(type) {
	case *tenurev1.TxnRequest:
		c.tries++
		failed, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "failed").With("operations", "0:COMPARE_FAILED"), "")
		return failed.Err()
	case *tenurev1.GetRequest:
		if c.there = !c.there; c.there {
			missing, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "none"), "")
			return missing.Err()
		}
		return nil
	default:
		return fmt.Errorf("it answers no call %v with %T", request, response)
	}
}

// TestATransactionIsNotTriedForEver deletes a key at an index while others make and delete it.
func TestATransactionIsNotTriedForEver(t *testing.T) {
	m := &changing{island: &island{leader: true}}
	h, err := consulhttp.New(consulhttp.Options{Conn: m})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PUT", "/v1/txn", strings.NewReader(`[{"KV":{"Verb":"delete-cas","Key":"a","Index":7}}]`)))
	if w.Code != 429 || w.Body.String() != "The keys and nodes of this transaction change too fast; try again." || m.tries != 136 {
		t.Errorf("got %d %s after %d tries", w.Code, w.Body, m.tries)
	}
}

// TestADeleteGrantsTheLockToTheNext deletes a key that a client of Consul holds while a client of Tenure waits for its lock.
func TestADeleteGrantsTheLockToTheNext(t *testing.T) {
	r := newRig(t)
	sessions, locks := tenurev1.NewSessionServiceClient(r.grpc), tenurev1.NewLockServiceClient(r.grpc)
	for how, remove := range map[string]func(key string){
		"plain": func(key string) { r.want("DELETE", "/v1/kv/"+key, "", 200, "true") },
		"cas": func(key string) {
			r.want("DELETE", fmt.Sprintf("/v1/kv/%s?cas=%d", key, r.row(key).ModifyIndex), "", 200, "true")
		},
		"recurse":     func(key string) { r.want("DELETE", "/v1/kv/"+key+"?recurse", "", 200, "true") },
		"transaction": func(key string) { r.txn(200, `"Verb":"delete","Key":"`+key+`"`) },
		"delete-tree": func(key string) { r.txn(200, `"Verb":"delete-tree","Key":"`+key+`"`) },
	} {
		id := r.session(`{"LockDelay":"60s"}`)
		r.want("PUT", "/v1/kv/"+how+"?acquire="+id, "1", 200, "true")
		made, err := sessions.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		waits, err := locks.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{Key: how, SessionId: made.GetSessionId()})
		if err != nil {
			t.Fatal(err)
		}
		if queued, recvErr := waits.Recv(); recvErr != nil || queued.GetQueued() == nil {
			t.Fatalf("%s: got %v, %v, want a place in the queue", how, queued, recvErr)
		}
		remove(how)
		granted, err := waits.Recv()
		if err != nil || granted.GetGranted() == nil {
			t.Errorf("%s: got %v, %v, want the lock at once", how, granted, err)
		}
		r.want("PUT", "/v1/kv/"+how+"?acquire="+id, "1", 200, "false")
		if _, err := sessions.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: made.GetSessionId()}); err != nil {
			t.Fatal(err)
		}
		r.want("PUT", "/v1/session/destroy/"+id, "", 200, "true")
	}
}
