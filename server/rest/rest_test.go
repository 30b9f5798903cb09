package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestTableIsTheGatewaysTable compares the rows that requests are checked by with those that the gateway is made from.
func TestTableIsTheGatewaysTable(t *testing.T) {
	text, err := os.ReadFile("../../proto/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type binding struct {
		Get, Put, Post, Delete, Patch, Body string
		AdditionalBindings                  []binding `yaml:"additional_bindings"`
	}
	var file struct {
		HTTP struct {
			Rules []struct {
				Selector string
				Binding  binding `yaml:",inline"`
			}
		}
	}
	if err = yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var want []string
	add := func(selector string, b binding) {
		for method, pattern := range map[string]string{"GET": b.Get, "PUT": b.Put, "POST": b.Post, "DELETE": b.Delete, "PATCH": b.Patch} {
			if pattern != "" {
				want = append(want, fmt.Sprintf("%s %s %s body=%v", method, pattern, selector, b.Body == "*"))
			}
		}
	}
	for _, rule := range file.HTTP.Rules {
		add(rule.Selector, rule.Binding)
		for _, b := range rule.Binding.AdditionalBindings {
			add(rule.Selector, b)
		}
	}
	routes, err := newRoutes(allRoutes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range routes {
		if r.kind != routeRaw {
			rpc := strings.ReplaceAll(strings.TrimPrefix(r.rpc, "/"), "/", ".")
			got = append(got, fmt.Sprintf("%s %s %s body=%v", r.method, r.pattern, rpc, r.body))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// nastyKeys are keys as they stand in a URL, and as they should be stored.
var nastyKeys = map[string]string{
	"a":                          "a",
	"a/b/c":                      "a/b/c",
	"/":                          "/",
	"//":                         "//",
	"/a":                         "/a",
	"//a":                        "//a",
	"a/":                         "a/",
	"a//":                        "a//",
	"a//b":                       "a//b",
	".":                          ".",
	"..":                         "..",
	"../..":                      "../..",
	"a/./b":                      "a/./b",
	"a/../b":                     "a/../b",
	"%2e%2e/b":                   "../b",
	"%2F":                        "/",
	"a%2Fb":                      "a/b",
	"a%2fb/":                     "a/b/",
	"%252F":                      "%2F",
	"%25":                        "%",
	"%2525":                      "%25",
	"%3F":                        "?",
	"a%3Facquire=x":              "a?acquire=x",
	"a%26b=c":                    "a&b=c",
	"a&b=c":                      "a&b=c",
	"a%20b":                      "a b",
	"a+b":                        "a+b",
	"%20":                        " ",
	"a%2Bb":                      "a+b",
	"%23":                        "#",
	"a#b":                        "a#b",
	"a;b":                        "a;b",
	"a:b":                        "a:b",
	":":                          ":",
	"a:renew":                    "a:renew",
	"a,b":                        "a,b",
	"*":                          "*",
	"**":                         "**",
	"{key}":                      "{key}",
	"{key=**}":                   "{key=**}",
	"%00":                        "\x00",
	"a%00b":                      "a\x00b",
	"%0d%0aX-Header:%20x":        "\r\nX-Header: x",
	"%09":                        "\t",
	"%7f":                        "\x7f",
	"caf%C3%A9":                  "café",
	"café":                       "café",
	"%E6%97%A5%E6%9C%AC":         "日本",
	"%F0%9F%94%92":               "\U0001F512",
	"%ef%bb%bf":                  "\ufeff",
	"%ef%bf%bd":                  "\ufffd",
	"%22%3Cscript%3E":            "\"<script>",
	"a\"b'c":                     "a\"b'c",
	"a\\b":                       "a\\b",
	"v1/kv/a":                    "v1/kv/a",
	"http://host/x":              "http://host/x",
	"index.html":                 "index.html",
	"a.":                         "a.",
	strings.Repeat("%2F", 1024):  strings.Repeat("/", 1024),
	strings.Repeat("%C3%A9", 80): strings.Repeat("é", 80),
}

func TestNastyKeysSurviveARoundTrip(t *testing.T) {
	rig := newRESTRig(t)
	for escaped, key := range nastyKeys {
		name := fmt.Sprintf("%.40q", escaped)
		target := "/v1/kv/" + escaped
		value := "value of " + key
		steps := []struct{ method, query, body, want string }{
			{method: "PUT", query: "?flags=7", body: value},
			{method: "GET", query: "?raw", want: value},
			{method: "GET"},
			{method: "HEAD"},
			{method: "DELETE"},
			{method: "POST", body: `{"value":"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"}`},
		}
		for _, step := range steps {
			rig.take()
			got := rig.send(t, step.method, target+step.query, nil, step.body)
			if got.status != http.StatusOK {
				t.Errorf("%s %s: got %d %.200s", step.method, name, got.status, got.body)
				continue
			}
			if stored := asked[interface{ GetKey() string }](t, rig).GetKey(); stored != key {
				t.Errorf("%s %s: services got key %.60q, want %.60q", step.method, name, stored, key)
			}
			if step.want != "" && got.body != step.want {
				t.Errorf("%s %s: got %.60q, want %.60q", step.method, name, got.body, step.want)
			}
			if strings.Contains(got.header.Get("X-Header"), "x") {
				t.Errorf("%s %s: the key made a header", step.method, name)
			}
		}
	}
}

func TestKeysOfLocksAndElectionsAreTakenAsTheyAre(t *testing.T) {
	rig := newRESTRig(t)
	for _, noun := range []string{"locks", "lock-queue", "elections"} {
		for escaped, key := range nastyKeys {
			rig.take()
			rig.send(t, "DELETE", "/v1/"+noun+"/"+escaped+"?sessionId=s", nil, "")
			if got := asked[interface{ GetKey() string }](t, rig).GetKey(); got != key {
				t.Errorf("%s %.40q: services got key %.60q, want %.60q", noun, escaped, got, key)
			}
		}
	}
}

// TestRequestsBecomeCalls shows what each kind of request becomes.
func TestRequestsBecomeCalls(t *testing.T) {
	rig := newRESTRig(t)
	const id = "00000000-0000-4000-8000-000000000001"
	tests := map[string]struct {
		method, target, body string
		want                 proto.Message
	}{
		"a raw put with all parameters": {
			"PUT", "/v1/kv/a/b?acquire=" + id + "&flags=18446744073709551615&bindSession=" + id +
				"&sequential&options.epoch=3&options.requestId.sequence=9&options.owner=me", "\x00\xff raw",
			&tenurev1.PutRequest{
				Key: "a/b", Content: &tenurev1.PutRequest_Value{Value: []byte("\x00\xff raw")}, Acquire: id,
				Flags: 1<<64 - 1, BindSession: id, Sequential: true,
				Options: &tenurev1.CallOptions{Epoch: 3, Owner: "me", RequestId: &tenurev1.RequestID{Sequence: 9}},
			},
		},
		"a raw put of nothing": {
			"PUT", "/v1/kv/a", "", &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: []byte{}}},
		},
		"a raw put of JSON": {
			"PUT", "/v1/kv/a", `{"text":"x"`, &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: []byte(`{"text":"x"`)}},
		},
		"a put if it does not exist": {
			"PUT", "/v1/kv/a?ifRevision=0", "x",
			&tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: []byte("x")}, IfRevision: proto.Uint64(0)},
		},
		"a put as JSON": {
			"POST", "/v1/kv/a", `{"text":"x","flags":"9007199254740993","ifRevision":9007199254740993}`,
			&tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Text{Text: "x"}, Flags: 9007199254740993, IfRevision: proto.Uint64(9007199254740993)},
		},
		"a put of an empty text as JSON": {
			"POST", "/v1/kv/a", `{"text":""}`, &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Text{}},
		},
		"a get with its options":     {"GET", "/v1/kv/a?read.stale&read.minRevision=5", "", &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{Stale: true, MinRevision: 5}}},
		"a list":                     {"GET", "/v1/kv?prefix=a%2Fb+c%2B&keysOnly=true&pageSize=2", "", &tenurev1.ListRequest{Prefix: "a/b c+", KeysOnly: true, PageSize: 2}},
		"a list of everything":       {"GET", "/v1/kv?prefix=", "", &tenurev1.ListRequest{}},
		"a delete of a prefix":       {"DELETE", "/v1/kv?prefix=a&all=false", "", &tenurev1.DeletePrefixRequest{Prefix: "a"}},
		"a session without a body":   {"POST", "/v1/sessions", "", &tenurev1.CreateSessionRequest{}},
		"a session with null":        {"POST", "/v1/sessions", `{"ttl":null, "metadata":{"pid":"1"}}`, &tenurev1.CreateSessionRequest{Metadata: map[string]string{"pid": "1"}}},
		"a destroy with its flags":   {"DELETE", "/v1/sessions/" + id + "?clean&force=1&reason=stuck", "", &tenurev1.DestroySessionRequest{SessionId: id, Clean: true, Force: true, Reason: "stuck"}},
		"a release":                  {"DELETE", "/v1/locks/a?sessionId=" + id + "&put=eA%3D%3D", "", &tenurev1.ReleaseLockRequest{Key: "a", SessionId: id, ValueOp: &tenurev1.ReleaseLockRequest_Put{Put: []byte("x")}}},
		"a try by enum name":         {"POST", "/v1/locks/a", `{"sessionId":"` + id + `","mode":"LOCK_MODE_SHARED","value":"_-8"}`, &tenurev1.TryAcquireLockRequest{Key: "a", SessionId: id, Mode: tenurev1.LockMode_LOCK_MODE_SHARED, Value: []byte{0xff, 0xef}}},
		"a get of a session":         {"GET", "/v1/sessions/x:y%20z", "", &tenurev1.GetSessionRequest{SessionId: "x:y z"}},
		"a renewal":                  {"POST", "/v1/sessions/" + id + "/renew", "{}", &tenurev1.RenewSessionRequest{SessionId: id}},
		"a check of a sequencer":     {"GET", "/v1/sequencers/t1.abc-_", "", &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Text{Text: "t1.abc-_"}}},
		"the removal of a member":    {"DELETE", "/v1/admin/members/18446744073709551615?force", "", &tenurev1.RemoveMemberRequest{MemberId: 1<<64 - 1, Force: true}},
		"limits":                     {"PATCH", "/v1/admin/limits", `{"limits":{"waitersMax":3}}`, &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{WaitersMax: proto.Uint32(3)}}},
		"limits with force":          {"PATCH", "/v1/admin/limits", `{"limits":{"waitersMax":3},"force":true}`, &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{WaitersMax: proto.Uint32(3)}, Force: true}},
		"a break of a lock":          {"POST", "/v1/admin/break/a/b", `{"reason":"stuck"}`, &tenurev1.BreakLockRequest{Key: "a/b", Reason: "stuck"}},
		"the absolute form of a URL": {"GET", "http://localhost/v1/kv/a%2Fb", "", &tenurev1.GetRequest{Key: "a/b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rig.take()
			got := rig.send(t, tc.method, tc.target, nil, tc.body)
			calls := rig.take()
			if len(calls) != 1 {
				t.Fatalf("%d calls, want one; answer %d %s", len(calls), got.status, got.body)
			}
			if !proto.Equal(calls[0].request, tc.want) {
				t.Errorf("got %v, want %v", calls[0].request, tc.want)
			}
		})
	}
}

func TestHeadersTravelAsMetadata(t *testing.T) {
	rig := newRESTRig(t)
	got := rig.send(t, "PUT", "/v1/kv/a", []string{
		"Tenure-Session-Secret: c2VjcmV0", "Idempotency-Key: once-and-for-all-times",
		"Grpc-Metadata-Tenure-Remote-Address: 6.6.6.6:6", "Tenure-Remote-Address: 6.6.6.6:6",
		"Grpc-Timeout: 0n", "Content-Type: application/x-www-form-urlencoded", "TE: trailers",
	}, "a=b")
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, target := range []string{"/v1/kv/a", "/v1/kv/a?raw"} {
		rig.send(t, "GET", target, []string{
			"Tenure-Session-Secret: c2VjcmV0", "Idempotency-Key: once-and-for-all-times",
			"Grpc-Metadata-Tenure-Remote-Address: 6.6.6.6:6", "Grpc-Timeout: 0n",
		}, "")
	}
	calls := rig.take()
	if len(calls) != 3 {
		t.Fatalf("got %d calls, want 3", len(calls))
	}
	for _, call := range calls {
		if v := call.md.Get("tenure-session-secret"); !slices.Equal(v, []string{"c2VjcmV0"}) {
			t.Errorf("%s: secret is %q", call.method, v)
		}
		if v := call.md.Get("idempotency-key"); !slices.Equal(v, []string{"once-and-for-all-times"}) {
			t.Errorf("%s: idempotency key is %q", call.method, v)
		}
		if v := call.md.Get("tenure-remote-address"); len(v) != 1 || !strings.HasPrefix(v[0], "127.0.0.1:") {
			t.Errorf("%s: remote address is %q", call.method, v)
		}
		if !strings.HasPrefix(call.address, "127.0.0.1:") {
			t.Errorf("%s: services see the caller at %q", call.method, call.address)
		}
	}
}

func TestAnswersAreJSONInOneLine(t *testing.T) {
	rig := newRESTRig(t)
	got := rig.send(t, "PUT", "/v1/kv/a?acquire=loser", nil, "x")
	want := `"acquired":false,"released":false`
	if got.status != http.StatusOK || !strings.Contains(got.body, want) || strings.Count(got.body, "\n") != 1 {
		t.Errorf("got %d %q, want one line with %s", got.status, got.body, want)
	}
	if !strings.Contains(got.body, `"revision":"7"`) {
		t.Errorf("64-bit integers are no texts in %q", got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Tenure-Revision": "7", "Tenure-Request-Id": "r-1", "X-Content-Type-Options": "nosniff",
		"Cache-Control": "no-store", "Hidden": "", "Grpc-Metadata-Hidden": "", "Access-Control-Allow-Origin": "", "Set-Cookie": "",
	} {
		if v := got.header.Get(name); v != want {
			t.Errorf("header %s is %q, want %q", name, v, want)
		}
	}
	created := rig.send(t, "POST", "/v1/sessions", nil, "")
	if v := created.header.Get("Tenure-Request-Id"); v != "r-1" {
		t.Errorf("a unary call through the gateway has request id %q", v)
	}
}

func TestRawValuesComeWithTheirFacts(t *testing.T) {
	rig := newRESTRig(t)
	rig.keys["a"] = &tenurev1.KeyValue{
		Key: "a", Value: []byte("<script>\x00"), Flags: 3, CreateRevision: 4, ModRevision: 5, Version: 6, LockIndex: 7, SessionId: "s", BoundSessionId: "b",
	}
	for _, method := range []string{"GET", "HEAD"} {
		got := rig.send(t, method, "/v1/kv/a?raw=true", nil, "")
		if method == "GET" && got.body != "<script>\x00" || method == "HEAD" && got.body != "" {
			t.Errorf("%s: got %q", method, got.body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Length": "9", "Tenure-Flags": "3",
			"Tenure-Create-Revision": "4", "Tenure-Mod-Revision": "5", "Tenure-Version": "6", "Tenure-Lock-Index": "7",
			"Tenure-Session-Id": "s", "Tenure-Bound-Session-Id": "b", "Tenure-Revision": "9", "Tenure-Request-Id": "r-1",
		} {
			if v := got.header.Get(name); v != want {
				t.Errorf("%s: header %s is %q, want %q", method, name, v, want)
			}
		}
	}
	missing := rig.send(t, "GET", "/v1/kv/none?raw", nil, "")
	if missing.status != http.StatusNotFound || missing.error.Code != "KEY_NOT_FOUND" {
		t.Errorf("a missing key answers %d %s", missing.status, missing.body)
	}
	if asJSON := rig.send(t, "GET", "/v1/kv/a?raw=false", nil, ""); !json.Valid([]byte(asJSON.body)) {
		t.Errorf("raw=false answers %q", asJSON.body)
	}
}

func TestErrorsKeepTheirFacts(t *testing.T) {
	rig := newRESTRig(t)
	tests := map[string]struct {
		err        error
		status     int
		code       string
		retryAfter string
		applied    string
	}{
		"compare failed":       {reason.New(tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "no").With("revision", "4"), 412, "COMPARE_FAILED", "", "no"},
		"no leader":            {reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "no"), 503, "NO_LEADER", "1", "no"},
		"not the leader":       {reason.New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "no"), 503, "NOT_LEADER", "1", "no"},
		"outcome unknown":      {&reason.Error{Reason: tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, Applied: reason.AppliedUnknown}, 504, "OUTCOME_UNKNOWN", "", "unknown"},
		"the server is gone":   {unavailable(), 503, "STOPPING", "1", "unknown"},
		"a wrong field":        {reason.Invalid("name", "too long"), 400, "INVALID_ARGUMENT", "", "no"},
		"something unforeseen": {reason.ErrPanic, 500, "INTERNAL", "", "unknown"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rig.fail = func() error { return asStatus(tc.err) }
			for _, request := range [][2]string{{"DELETE", "/v1/kv/a"}, {"PUT", "/v1/kv/a"}, {"GET", "/v1/kv/a?raw"}} {
				got := rig.send(t, request[0], request[1], nil, "")
				if got.status != tc.status || got.error.Code != tc.code || got.header.Get("Retry-After") != tc.retryAfter ||
					got.error.Metadata["applied"] != tc.applied {
					t.Errorf("%s: got %d %s, retry after %q: %s", request[0], got.status, got.error.Code, got.header.Get("Retry-After"), got.body)
				}
			}
		})
	}
	rig.fail = func() error { return asStatus(reason.Invalid("name", "too long")) }
	got := rig.send(t, "GET", "/v1/kv/a", nil, "")
	if len(got.error.Violations) != 1 || got.error.Violations[0].Field != "name" || got.error.Status != "INVALID_ARGUMENT" {
		t.Errorf("got %s, want a violation of name", got.body)
	}
}

func TestWrongMethodsNameTheRightOnes(t *testing.T) {
	rig := newRESTRig(t)
	for target, want := range map[string]string{
		"/v1/kv/a":    "DELETE, GET, HEAD, POST, PUT",
		"/v1/kv":      "DELETE, GET, HEAD",
		"/v1/watch":   "GET, POST",
		"/v1/txn":     "POST",
		"/healthz":    "GET, HEAD",
		"/v1/locks/a": "DELETE, GET, HEAD, POST",
	} {
		got := rig.send(t, "PATCH", target, nil, "")
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != want {
			t.Errorf("%s: got %d, Allow %q, want %q", target, got.status, got.header.Get("Allow"), want)
		}
	}
}

// FuzzRESTPath checks that a key survives however it is escaped, and that no path at all is a fault of the service.
func FuzzRESTPath(f *testing.F) {
	for escaped, key := range nastyKeys {
		f.Add(key, escaped, uint8(0))
	}
	f.Add("ключ", "%ff", uint8(255))
	routes, err := newRoutes(allRoutes())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key, raw string, always uint8) {
		if got, e := keyOf(routes, "/v1/kv/"+raw); e == nil && got == "" {
			t.Errorf("path %q has an empty key", raw)
		} else if e != nil && (e.httpStatus < 400 || e.httpStatus >= 500) {
			t.Errorf("path %q is %d", raw, e.httpStatus)
		}
		if key == "" || strings.ToValidUTF8(key, "") != key {
			return
		}
		var escaped strings.Builder
		for i := range len(key) {
			// Slashes may stay; everything that is not plain must be escaped, and everything may be.
			plain := key[i] == '/' || key[i] >= 'a' && key[i] <= 'z'
			if plain && (i+int(always))%3 != 0 {
				escaped.WriteByte(key[i])
				continue
			}
			fmt.Fprintf(&escaped, "%%%02x", key[i])
		}
		got, e := keyOf(routes, "/v1/kv/"+escaped.String())
		if e != nil || got != key {
			t.Errorf("key %q as %q became %q, %v", key, escaped.String(), got, e)
		}
	})
}

// keyOf returns the key that a path names, along the way of a request.
func keyOf(routes []restRoute, path string) (string, *restError) {
	r := &http.Request{Method: http.MethodGet, RequestURI: path, URL: &url.URL{}}
	segments, e := splitPath(r)
	if e != nil {
		return "", e
	}
	route, e := findRoute(routes, r.Method, segments)
	if e != nil {
		return "", e
	}
	fields := route.pathFields(segments)
	if e := checkPath(fields, route.segments); e != nil {
		return "", e
	}
	return strings.TrimPrefix(route.pathOf(fields), "/v1/kv/"), nil
}

func TestErrorsNameFieldsAsRESTDoes(t *testing.T) {
	e := restErrorOf(reason.Invalid("options.request_id.session_id", "is missing"))
	if want := "options.requestId.sessionId: is missing"; e.Message != want || e.Violations[0].Field != "options.requestId.sessionId" {
		t.Errorf("got %q and %v, want %q", e.Message, e.Violations, want)
	}
}
