package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// badInput is one thing that no client should send, over gRPC and over REST: the reason is the same.
type badInput struct {
	call    func(ctx context.Context) error // over gRPC; nil where gRPC cannot say it
	method  string                          // of HTTP; empty where REST cannot say it
	target  string
	body    string
	headers []string // names and values

	code   codes.Code
	status int
	reason string
}

// result drops the answer of a call.
func result[T any](_ T, err error) error { return err }

// badInputs is the table of bad input.
func badInputs(m *wholeMember, open, secret string) map[string]badInput {
	const nobody = "00000000-0000-4000-8000-000000000000"
	long := strings.Repeat("k", 1025)
	huge := strings.Repeat("v", 512<<10+1)
	wrong := bytes.Repeat([]byte{7}, 32)
	negative := durationpb.New(-time.Second)
	text64 := base64.StdEncoding.EncodeToString
	putAs := func(key string, change func(*tenurev1.PutRequest)) func(context.Context) error {
		return func(ctx context.Context) error {
			r := &tenurev1.PutRequest{Key: key}
			if change != nil {
				change(r)
			}
			return result(m.kv.Put(ctx, r))
		}
	}
	create := func(r *tenurev1.CreateSessionRequest) func(context.Context) error {
		return func(ctx context.Context) error { return result(m.sessions.CreateSession(ctx, r)) }
	}
	watch := func(r *tenurev1.WatchRequest) func(context.Context) error {
		return func(ctx context.Context) error { return m.first(ctx, r) }
	}
	return map[string]badInput{
		"an empty key":       {putAs("", nil), "PUT", "/v1/kv/", "x", nil, codes.InvalidArgument, 400, "KEY_EMPTY"},
		"an empty key, read": {func(ctx context.Context) error { return result(m.kv.Get(ctx, &tenurev1.GetRequest{})) }, "GET", "/v1/kv/", "", nil, codes.InvalidArgument, 400, "KEY_EMPTY"},
		"a key too long":     {putAs(long, nil), "PUT", "/v1/kv/" + long, "x", nil, codes.InvalidArgument, 400, "KEY_TOO_LONG"},
		"a lock's key too long": {func(ctx context.Context) error {
			return result(m.locks.GetLock(ctx, &tenurev1.GetLockRequest{Key: long}))
		}, "GET", "/v1/locks/" + long, "", nil, codes.InvalidArgument, 400, "KEY_TOO_LONG"},
		"a prefix too long": {func(ctx context.Context) error {
			return result(m.kv.List(ctx, &tenurev1.ListRequest{Prefix: long}))
		}, "GET", "/v1/kv?prefix=" + long, "", nil, codes.InvalidArgument, 400, "KEY_TOO_LONG"},
		"a key that is not UTF-8": {func(ctx context.Context) error {
			return m.bytesTo(ctx, tenurev1.KVService_Put_FullMethodName, []byte("\x0a\x02\xff\xfe"))
		}, "PUT", "/v1/kv/%ff%fe", "x", nil, codes.InvalidArgument, 400, "MALFORMED_REQUEST"},
		"a damaged message": {func(ctx context.Context) error {
			return m.bytesTo(ctx, tenurev1.KVService_Put_FullMethodName, []byte("\x0a\x7fab"))
		}, "POST", "/v1/kv/bad", `{"text":"x`, nil, codes.InvalidArgument, 400, "MALFORMED_REQUEST"},
		"a value too large": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Content = &tenurev1.PutRequest_Value{Value: []byte(huge)} }),
			"PUT", "/v1/kv/bad", huge, nil, codes.ResourceExhausted, 413, "TOO_LARGE",
		},
		"a text too large": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Content = &tenurev1.PutRequest_Text{Text: huge} }),
			"POST", "/v1/kv/bad", `{"text":"` + huge + `"}`, nil, codes.ResourceExhausted, 413, "TOO_LARGE",
		},
		"a message too large": {putAs("bad", func(r *tenurev1.PutRequest) {
			r.Content = &tenurev1.PutRequest_Value{Value: bytes.Repeat([]byte("v"), 2<<20)}
		}), "PUT", "/v1/kv/bad", strings.Repeat("v", 2<<20), nil, codes.ResourceExhausted, 413, "TOO_LARGE"},
		// gRPC itself refuses it before anything of ours runs: with the same code, but without a reason.
		"a message far too large": {nil, "PUT", "/v1/kv/bad", strings.Repeat("v", 8<<20), nil, codes.OK, 413, "TOO_LARGE"},

		"a session id that is no UUID": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Acquire = "me" }),
			"PUT", "/v1/kv/bad?acquire=me", "x", nil, codes.InvalidArgument, 400, "SESSION_ID_INVALID",
		},
		"a session id in braces": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Acquire = "{" + nobody + "}" }),
			"PUT", "/v1/kv/bad?acquire=%7B" + nobody + "%7D", "x", nil, codes.InvalidArgument, 400, "SESSION_ID_INVALID",
		},
		"a missing session id": {func(ctx context.Context) error {
			return result(m.sessions.GetSession(ctx, &tenurev1.GetSessionRequest{}))
		}, "GET", "/v1/sessions/", "", nil, codes.InvalidArgument, 400, "SESSION_ID_INVALID"},
		"an unknown session acquires": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Acquire = nobody }),
			"PUT", "/v1/kv/bad?acquire=" + nobody, "x", nil, codes.NotFound, 404, "SESSION_NOT_FOUND",
		},
		"an unknown session is looked up": {func(ctx context.Context) error {
			return result(m.sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: nobody}))
		}, "GET", "/v1/sessions/" + nobody, "", nil, codes.NotFound, 404, "SESSION_NOT_FOUND"},
		"an unknown session is renewed": {func(ctx context.Context) error {
			return result(m.sessions.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: nobody}))
		}, "POST", "/v1/sessions/" + nobody + "/renew", "", nil, codes.NotFound, 404, "SESSION_NOT_FOUND"},
		"an unknown session is destroyed": {func(ctx context.Context) error {
			return result(m.sessions.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: nobody}))
		}, "DELETE", "/v1/sessions/" + nobody, "", nil, codes.NotFound, 404, "SESSION_NOT_FOUND"},
		"no secret": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Acquire = secret }),
			"PUT", "/v1/kv/bad?acquire=" + secret, "x", nil, codes.PermissionDenied, 403, "SESSION_SECRET_WRONG",
		},
		"a wrong secret": {putAs("bad", func(r *tenurev1.PutRequest) {
			r.Acquire, r.Options = secret, &tenurev1.CallOptions{SessionSecret: wrong, Epoch: 1}
		}), "PUT", "/v1/kv/bad?acquire=" + secret + "&options.epoch=1", "x", []string{"Tenure-Session-Secret", text64(wrong)}, codes.PermissionDenied, 403, "SESSION_SECRET_WRONG"},
		"a wrong secret to destroy": {func(ctx context.Context) error {
			return result(m.sessions.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: secret, Options: &tenurev1.CallOptions{SessionSecret: wrong}}))
		}, "DELETE", "/v1/sessions/" + secret, "", []string{"Tenure-Session-Secret", text64(wrong)}, codes.PermissionDenied, 403, "SESSION_SECRET_WRONG"},
		"a secret that is too short": {putAs("bad", func(r *tenurev1.PutRequest) {
			r.Acquire, r.Options = secret, &tenurev1.CallOptions{SessionSecret: []byte("short")}
		}), "PUT", "/v1/kv/bad?acquire=" + secret, "x", []string{"Tenure-Session-Secret", text64([]byte("short"))}, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a secret that is not base64": {nil, "PUT", "/v1/kv/bad?acquire=" + secret, "x", []string{"Tenure-Session-Secret", "!"}, codes.OK, 400, "INVALID_ARGUMENT"},
		"an idempotency key too short": {putAs("bad", func(r *tenurev1.PutRequest) {
			r.Options = &tenurev1.CallOptions{IdempotencyKey: []byte("short")}
		}), "PUT", "/v1/kv/bad", "x", []string{"Idempotency-Key", "short"}, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},

		"a negative ttl":            {create(&tenurev1.CreateSessionRequest{Ttl: negative}), "POST", "/v1/sessions", `{"ttl":"-1s"}`, nil, codes.InvalidArgument, 400, "TTL_OUT_OF_RANGE"},
		"a ttl that is none":        {create(&tenurev1.CreateSessionRequest{Ttl: &durationpb.Duration{Seconds: 1, Nanos: -1}}), "POST", "/v1/sessions", `{"ttl":"soon"}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a lock-delay that is none": {create(&tenurev1.CreateSessionRequest{LockDelay: &durationpb.Duration{Seconds: 1, Nanos: -1}}), "POST", "/v1/sessions", `{"lockDelay":15}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a negative lock-delay":     {create(&tenurev1.CreateSessionRequest{LockDelay: negative}), "POST", "/v1/sessions", `{"lockDelay":"-1s"}`, nil, codes.InvalidArgument, 400, "LOCK_DELAY_OUT_OF_RANGE"},
		"a lock-delay too long":     {create(&tenurev1.CreateSessionRequest{LockDelay: durationpb.New(61 * time.Second)}), "POST", "/v1/sessions", `{"lockDelay":"61s"}`, nil, codes.InvalidArgument, 400, "LOCK_DELAY_OUT_OF_RANGE"},
		"a name too long":           {create(&tenurev1.CreateSessionRequest{Name: long}), "POST", "/v1/sessions", `{"name":"` + long + `"}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"checks without a node":     {create(&tenurev1.CreateSessionRequest{Checks: &tenurev1.SessionChecks{NodeChecks: []string{"disk"}}}), "POST", "/v1/sessions", `{"checks":{"nodeChecks":["disk"]}}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a secret given and asked":  {create(&tenurev1.CreateSessionRequest{Secret: wrong, WantSecret: true}), "POST", "/v1/sessions", `{"secret":"` + text64(wrong) + `","wantSecret":true}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"force without a reason": {func(ctx context.Context) error {
			return result(m.sessions.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: open, Force: true}))
		}, "DELETE", "/v1/sessions/" + open + "?force", "", nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},

		"a failed comparison": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.IfRevision = new(uint64(99)) }),
			"PUT", "/v1/kv/bad?ifRevision=99", "x", nil, codes.FailedPrecondition, 412, "COMPARE_FAILED",
		},
		"an unknown key": {func(ctx context.Context) error {
			return result(m.kv.Get(ctx, &tenurev1.GetRequest{Key: "none"}))
		}, "GET", "/v1/kv/none", "", nil, codes.NotFound, 404, "KEY_NOT_FOUND"},
		"an unknown lock": {func(ctx context.Context) error {
			return result(m.locks.GetLock(ctx, &tenurev1.GetLockRequest{Key: "none"}))
		}, "GET", "/v1/locks/none", "", nil, codes.NotFound, 404, "LOCK_NOT_FOUND"},
		"acquire with release": {
			putAs("bad", func(r *tenurev1.PutRequest) { r.Acquire, r.Release = open, open }),
			"POST", "/v1/kv/bad", `{"text":"x","acquire":"` + open + `","release":"` + open + `"}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT",
		},
		"everything deleted by mistake": {func(ctx context.Context) error {
			return result(m.kv.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{}))
		}, "DELETE", "/v1/kv?prefix=", "", nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a page too large": {func(ctx context.Context) error {
			return result(m.kv.List(ctx, &tenurev1.ListRequest{PageSize: 1001}))
		}, "GET", "/v1/kv?pageSize=1001", "", nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a forged page token": {func(ctx context.Context) error {
			return result(m.kv.List(ctx, &tenurev1.ListRequest{PageToken: "AAAA"}))
		}, "GET", "/v1/kv?pageToken=AAAA", "", nil, codes.InvalidArgument, 400, "PAGE_TOKEN_INVALID"},
		"a forged page token of sessions": {func(ctx context.Context) error {
			return result(m.sessions.ListSessions(ctx, &tenurev1.ListSessionsRequest{PageToken: strings.Repeat("A", 64)}))
		}, "GET", "/v1/sessions?pageToken=" + strings.Repeat("A", 64), "", nil, codes.InvalidArgument, 400, "PAGE_TOKEN_INVALID"},

		"a read ahead of the cluster": {func(ctx context.Context) error {
			return result(m.kv.Get(ctx, &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{MinRevision: 1 << 40}}))
		}, "GET", "/v1/kv/a?read.minRevision=1099511627776", "", nil, codes.OutOfRange, 400, "REVISION_FUTURE"},
		"a read of another history": {func(ctx context.Context) error {
			return result(m.kv.Get(ctx, &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{HistoryId: strings.Repeat("0", 32)}}))
		}, "GET", "/v1/kv/a?read.historyId=" + strings.Repeat("0", 32), "", nil, codes.FailedPrecondition, 409, "HISTORY_CHANGED"},
		"a history that is none": {func(ctx context.Context) error {
			return result(m.kv.Get(ctx, &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{HistoryId: "new"}}))
		}, "GET", "/v1/kv/a?read.historyId=new", "", nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a watch ahead of the cluster": {
			watch(&tenurev1.WatchRequest{AfterRevision: 1 << 40}),
			"GET", "/v1/watch?afterRevision=1099511627776", "", nil, codes.OutOfRange, 400, "REVISION_FUTURE",
		},
		"a watch of another history": {
			watch(&tenurev1.WatchRequest{AfterRevision: 1, HistoryId: strings.Repeat("0", 32)}),
			"GET", "/v1/watch?afterRevision=1&historyId=" + strings.Repeat("0", 32), "", nil, codes.FailedPrecondition, 409, "HISTORY_CHANGED",
		},
		"a forged resume token": {
			watch(&tenurev1.WatchRequest{ResumeToken: "AAAA"}),
			"GET", "/v1/watch?resumeToken=AAAA", "", nil, codes.InvalidArgument, 400, "RESUME_TOKEN_INVALID",
		},
		"a watch of a key too long": {
			watch(&tenurev1.WatchRequest{Keys: []string{long}}),
			"GET", "/v1/watch?keys=" + long, "", nil, codes.InvalidArgument, 400, "KEY_TOO_LONG",
		},
		"a watch of no session": {
			watch(&tenurev1.WatchRequest{SessionIds: []string{"me"}}),
			"GET", "/v1/watch?sessionIds=me", "", nil, codes.InvalidArgument, 400, "SESSION_ID_INVALID",
		},

		"metadata too large": {
			create(&tenurev1.CreateSessionRequest{Metadata: map[string]string{"m": strings.Repeat("v", 4096)}}),
			"POST", "/v1/sessions", `{"metadata":{"m":"` + strings.Repeat("v", 4096) + `"}}`, nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT",
		},
		"too many selectors": {
			watch(&tenurev1.WatchRequest{Keys: slices.Repeat([]string{"a"}, 129)}),
			"GET", "/v1/watch?keys=a" + strings.Repeat("&keys=a", 128), "", nil, codes.InvalidArgument, 400, "INVALID_ARGUMENT",
		},
		"a secret in a read": {func(ctx context.Context) error {
			ctx = metadata.AppendToOutgoingContext(ctx, "tenure-session-secret", text64(wrong))
			return result(m.kv.Get(ctx, &tenurev1.GetRequest{Key: "a"}))
		}, "GET", "/v1/kv/a", "", []string{"Tenure-Session-Secret", text64(wrong)}, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"an idempotency key in a read": {func(ctx context.Context) error {
			ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", "0123456789abcdef")
			return result(m.kv.List(ctx, &tenurev1.ListRequest{}))
		}, "GET", "/v1/kv", "", []string{"Idempotency-Key", "0123456789abcdef"}, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a secret in a watch": {func(ctx context.Context) error {
			return m.first(metadata.AppendToOutgoingContext(ctx, "tenure-session-secret", text64(wrong)), &tenurev1.WatchRequest{Keys: []string{"a"}})
		}, "GET", "/v1/watch?keys=a&limit=1&wait=1ms", "", []string{"Tenure-Session-Secret", text64(wrong)}, codes.InvalidArgument, 400, "INVALID_ARGUMENT"},
		"a raw read with a secret": {nil, "GET", "/v1/kv/a?raw", "", []string{"Tenure-Session-Secret", text64(wrong)}, codes.OK, 400, "INVALID_ARGUMENT"},
		"a misspelt parameter":     {nil, "PUT", "/v1/kv/bad?acqire=" + open, "x", nil, codes.OK, 400, "UNKNOWN_FIELD"},
		"a repeated parameter":     {nil, "PUT", "/v1/kv/bad?flags=1&flags=1", "x", nil, codes.OK, 400, "UNKNOWN_FIELD"},
		"an unknown field":         {nil, "POST", "/v1/kv/bad", `{"txt":"x"}`, nil, codes.OK, 400, "UNKNOWN_FIELD"},
		"nothing at this path": {func(ctx context.Context) error {
			return m.bytesTo(ctx, "/tenure.v1.KVService/Fetch", nil)
		}, "GET", "/v1/keys", "", nil, codes.Unimplemented, 404, "METHOD_NOT_FOUND"},
	}
}

// TestBadInputIsRefusedWithItsReason sends bad input over gRPC and REST to a whole member. Nothing of it may be a fault of
// the service, and nothing may be written.
func TestBadInputIsRefusedWithItsReason(t *testing.T) {
	m := newWholeMember(t)
	open := m.session(t, &tenurev1.CreateSessionRequest{})
	secret := m.session(t, &tenurev1.CreateSessionRequest{Secret: bytes.Repeat([]byte{1}, 32)})
	for name, tc := range badInputs(m, open, secret) {
		t.Run(name, func(t *testing.T) {
			if tc.call != nil {
				checkCallFails(t, tc)
			}
			if tc.method != "" {
				checkRequestFails(t, m, tc)
			}
		})
	}
	_, err := m.kv.Put(t.Context(), &tenurev1.PutRequest{Key: "bad", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 8<<20)}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message far too large over gRPC: %v", err)
	}
	kept, err := m.kv.List(t.Context(), &tenurev1.ListRequest{})
	if err != nil || len(kept.GetKvs()) > 0 {
		t.Errorf("after bad input: keys %v, %v", kept.GetKvs(), err)
	}
	for _, id := range []string{open, secret} {
		got, err := m.sessions.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id})
		if err != nil || got.GetSession().GetEnd() != nil || len(got.GetHolds()) > 0 {
			t.Errorf("after bad input: session %v, %v", got, err)
		}
	}
}

// checkCallFails checks bad input over gRPC.
func checkCallFails(t *testing.T, tc badInput) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := tc.call(ctx)
	s, info := status.Convert(err), infoOf(err)
	if s.Code() != tc.code || info.GetReason() != tc.reason || info.GetDomain() != "tenure.io" || info.GetMetadata()["applied"] != "no" {
		t.Errorf("gRPC: got %v %v, want %v %s", s, info, tc.code, tc.reason)
	}
}

// checkRequestFails checks bad input over REST.
func checkRequestFails(t *testing.T, m *wholeMember, tc badInput) {
	t.Helper()
	got, body := m.do(t, tc.method, tc.target, tc.body, tc.headers...)
	var answer struct {
		Error struct {
			Code     string
			Metadata map[string]string
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("REST: %d %.200q: %v", got, body, err)
	}
	if got != tc.status || answer.Error.Code != tc.reason || answer.Error.Metadata["applied"] != "no" {
		t.Errorf("REST: got %d %.300s, want %d %s", got, body, tc.status, tc.reason)
	}
}

// TestAbsurdTTLsAreClamped shows what is granted instead of refused.
func TestAbsurdTTLsAreClamped(t *testing.T) {
	m := newWholeMember(t)
	for asked, want := range map[string]string{"0.001s": "2s", "315576000000s": "86400s", "0s": "0s", "15s": "15s"} {
		code, body := m.do(t, "POST", "/v1/sessions", `{"ttl":"`+asked+`"}`)
		var created struct{ TTL string }
		if err := json.Unmarshal(body, &created); err != nil || code != http.StatusOK || created.TTL != want {
			t.Errorf("asked for %s: got %d %s, want %s", asked, code, body, want)
		}
	}
}

// TestNastyKeysAreStoredAsTheyAre goes all the way from a URL to the store and back, over REST and gRPC.
func TestNastyKeysAreStoredAsTheyAre(t *testing.T) {
	m := newWholeMember(t)
	for escaped, key := range map[string]string{
		"/": "/", "//": "//", "a//b": "a//b", "a%2Fb": "a/b", "a%252Fb": "a%2Fb", "what%3F": "what?", "%00": "\x00", "a%20b+c": "a b+c",
		"%2e%2e/%2e": "../.", "caf%C3%A9": "café", "trailing/": "trailing/",
	} {
		// As it is: Go's client would clean nothing, but needs a URL it can take apart.
		if code, body := m.do(t, "PUT", "/v1/kv/"+escaped, "value of "+key); code != http.StatusOK {
			t.Errorf("put %q: %d %s", escaped, code, body)
			continue
		}
		got, err := m.kv.Get(t.Context(), &tenurev1.GetRequest{Key: key})
		if err != nil || string(got.GetKv().GetValue()) != "value of "+key {
			t.Errorf("get %q over gRPC: %v, %v", key, got, err)
		}
		if code, body := m.do(t, "GET", "/v1/kv/"+escaped+"?raw", ""); code != http.StatusOK || string(body) != "value of "+key {
			t.Errorf("get %q: %d %q", escaped, code, body)
		}
	}
}

// TestElectionWithCurl follows the guide's election over REST alone.
func TestElectionWithCurl(t *testing.T) {
	m := newWholeMember(t)
	create := func(body string) string {
		_, text := m.do(t, "POST", "/v1/sessions", body)
		var created struct{ SessionID string }
		if err := json.Unmarshal(text, &created); err != nil || created.SessionID == "" {
			t.Fatalf("create session: %s, %v", text, err)
		}
		return created.SessionID
	}
	first, second := create(`{"name":"one","ttl":"60s","lockDelay":"0s"}`), create(`{"name":"two","ttl":"60s"}`)
	acquired := func(id, value string) string {
		code, text := m.do(t, "PUT", "/v1/kv/service/leader?acquire="+id, value)
		if code != http.StatusOK {
			t.Fatalf("acquire: %d %s", code, text)
		}
		return string(text)
	}
	if got := acquired(first, "node one"); !strings.Contains(got, `"acquired":true`) || !strings.Contains(got, `"fencingToken":"`) {
		t.Errorf("first candidate: %s", got)
	}
	if got := acquired(second, "node two"); !strings.Contains(got, `"acquired":false`) || !strings.Contains(got, `"sessionName":"one"`) {
		t.Errorf("second candidate: %s", got)
	}
	if _, got := m.do(t, "GET", "/v1/kv/service/leader?raw", ""); string(got) != "node one" {
		t.Errorf("after the lost race the value is %q", got)
	}
	if code, got := m.do(t, "POST", "/v1/sessions/"+first+"/renew", ""); code != http.StatusOK {
		t.Errorf("renew: %d %s", code, got)
	}
	m.watchUntil(t, "keys=service/leader&initial", func(got string) bool {
		lines := strings.Split(strings.TrimSpace(got), "\n")
		return len(lines) > 1 && strings.Contains(lines[0], `"started"`) && strings.Contains(got, text64("node one"))
	})
	if code, got := m.do(t, "DELETE", "/v1/sessions/"+first, ""); code != http.StatusOK || !strings.Contains(string(got), `"destroyed":true`) {
		t.Errorf("destroy: %d %s", code, got)
	}
	if got := acquired(second, "node two"); !strings.Contains(got, `"acquired":true`) {
		t.Errorf("after the end of the first: %s", got)
	}
	if code, got := m.do(t, "PUT", "/v1/kv/service/leader?release="+second, ""); code != http.StatusOK || !strings.Contains(string(got), `"released":true`) {
		t.Errorf("release: %d %s", code, got)
	}
	if code, got := m.do(t, "GET", "/v1/sessions/"+first, ""); code != http.StatusOK || !strings.Contains(string(got), `"end":{`) {
		t.Errorf("info of an ended session: %d %s", code, got)
	}
	if code, got := m.do(t, "PUT", "/v1/kv/service/leader?acquire="+first, ""); code != http.StatusGone {
		t.Errorf("an ended session acquires: %d %s", code, got)
	}
}

// text64 returns a text in base64, as values are in JSON.
func text64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
