package consulhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestKeysAreShownAsConsulShowsThem is golden: bytes that clients decode.
func TestKeysAreShownAsConsulShowsThem(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a?flags=16210313421097356768", "hi", 200, "true")
	r.want("GET", "/v1/kv/a", "", 200, `[{"LockIndex":0,"Key":"a","Flags":16210313421097356768,"Value":"aGk=","CreateIndex":1,"ModifyIndex":1}]`)
	r.want("GET", "/v1/kv/a?raw", "", 200, "hi")
	r.want("PUT", "/v1/kv/a/b", "", 200, "true")
	r.want("GET", "/v1/kv/a/b", "", 200, `[{"LockIndex":0,"Key":"a/b","Flags":0,"Value":null,"CreateIndex":2,"ModifyIndex":2}]`)
	r.want("GET", "/v1/kv/a/b?raw", "", 200, "")
	pretty := r.send("GET", "/v1/kv/a/b?pretty", "")
	if want := "[\n    {\n        \"LockIndex\": 0,\n"; !strings.HasPrefix(pretty.body, want) || compact(pretty.body) != r.send("GET", "/v1/kv/a/b", "").body {
		t.Errorf("pretty: got %s", pretty.body)
	}
	id := r.session("")
	r.want("PUT", "/v1/kv/a?acquire="+id, "held", 200, "true")
	r.want("GET", "/v1/kv/a", "", 200,
		`[{"LockIndex":1,"Key":"a","Flags":0,"Value":"aGVsZA==","Session":"`+id+`","CreateIndex":1,"ModifyIndex":4}]`)
	rows := r.send("GET", "/v1/kv/a?recurse", "")
	one, two := r.send("GET", "/v1/kv/a", "").body, r.send("GET", "/v1/kv/a/b", "").body
	if want := strings.TrimSuffix(one, "]") + "," + strings.TrimPrefix(two, "["); rows.body != want {
		t.Errorf("recurse: got %s, want %s", rows.body, want)
	}
	prettyRows := r.send("GET", "/v1/kv/a?recurse&pretty", "")
	if compact(prettyRows.body) != rows.body || !strings.HasPrefix(prettyRows.body, "[\n    {\n        \"LockIndex\"") || !strings.HasSuffix(prettyRows.body, "\n    }\n]\n") {
		t.Errorf("recurse, pretty: got %s", prettyRows.body)
	}
}

// TestKeysKeepTheirBytes puts keys that others would clean, and finds them.
func TestKeysKeepTheirBytes(t *testing.T) {
	r := newRig(t)
	for sent, key := range map[string]string{
		"a//b%20c%252Fd": "a//b c%2Fd", "/lead": "lead", "%2Flead": "/lead", "//two": "two", "a%2Fb": "a/b", "a/./b": "a/./b",
		"caf%C3%A9": "café", "a%3Fb": "a?b", "a+b": "a+b", "x%00y": "x\x00y", "100%25": "100%",
	} {
		r.want("PUT", "/v1/kv/"+sent, "v", 200, "true")
		if found := r.row(sent); found.Key != key {
			t.Errorf("%s: the key is %q, want %q", sent, found.Key, key)
		}
	}
}

func TestPutsCompare(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a?cas=0", "1", 200, "true")
	r.want("PUT", "/v1/kv/a?cas=0", "2", 200, "false")
	at := r.row("a").ModifyIndex
	r.want("PUT", fmt.Sprintf("/v1/kv/a?cas=%d&flags=7", at), "2", 200, "true")
	r.want("PUT", fmt.Sprintf("/v1/kv/a?cas=%d", at), "3", 200, "false")
	if got := r.row("a"); string(got.Value) != "2" || got.Flags != 7 || got.CreateIndex != at {
		t.Errorf("got %+v", got)
	}
	r.want("PUT", "/v1/kv/none?cas=5", "1", 200, "false")
	r.want("DELETE", fmt.Sprintf("/v1/kv/a?cas=%d", at), "", 200, "false")
	r.want("DELETE", "/v1/kv/a?cas=0", "", 200, "false")
	r.want("DELETE", fmt.Sprintf("/v1/kv/a?cas=%d", r.row("a").ModifyIndex), "", 200, "true")
	r.want("DELETE", "/v1/kv/a?cas=7", "", 200, "true")
	r.want("DELETE", "/v1/kv/a", "", 200, "true")
	r.want("GET", "/v1/kv/a", "", 404, "")
}

// TestListsAreLikeConsuls lists keys, with and without separators.
func TestListsAreLikeConsuls(t *testing.T) {
	r := newRig(t)
	r.want("GET", "/v1/kv/?keys", "", 200, "[]")
	r.want("GET", "/v1/kv/?recurse", "", 404, "")
	for _, key := range []string{"foo/bar/baz", "foo/bar/zip", "foo/bar/zip/zam", "foo/bar/zip/zap", "other"} {
		r.want("PUT", "/v1/kv/"+key, key, 200, "true")
	}
	for path, want := range map[string]string{
		"?keys":                        list("foo/bar/baz", "foo/bar/zip", "foo/bar/zip/zam", "foo/bar/zip/zap", "other"),
		"?keys&separator=/":            list("foo/", "other"),
		"foo/bar/?keys&separator=/":    list("foo/bar/baz", "foo/bar/zip", "foo/bar/zip/"),
		"foo/bar/?keys&seperator=/":    list("foo/bar/baz", "foo/bar/zip", "foo/bar/zip/"),
		"foo/b?keys&separator=ar/":     list("foo/bar/"),
		"foo/bar/zi?keys":              list("foo/bar/zip", "foo/bar/zip/zam", "foo/bar/zip/zap"),
		"?keys&separator=/&seperator=": list("foo/", "other"),
	} {
		r.want("GET", "/v1/kv/"+path, "", 200, want)
	}
	r.want("GET", "/v1/kv/none?keys", "", 404, "")
	r.want("DELETE", "/v1/kv/foo?recurse", "", 200, "true")
	r.want("GET", "/v1/kv/?keys", "", 200, list("other"))
	r.want("DELETE", "/v1/kv/?recurse", "", 200, "true")
	r.want("GET", "/v1/kv/?keys", "", 200, "[]")
}

// TestLongListsAreOfOneRevision lists more than a page, and deletes more than a step, while others write.
func TestLongListsAreOfOneRevision(t *testing.T) {
	r := newRig(t)
	const pages, each = 20, 127
	for p := range pages {
		var ops []string
		for k := range each {
			ops = append(ops, fmt.Sprintf(`{"KV":{"Verb":"set","Key":"many/%02d/%03d","Value":"MQ=="}}`, p, k))
		}
		if got := r.send("PUT", "/v1/txn", "["+strings.Join(ops, ",")+"]"); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	for _, mode := range []string{"", "&stale"} {
		got := r.send("GET", "/v1/kv/many/?recurse"+mode, "")
		var rows []row
		if err := json.Unmarshal([]byte(got.body), &rows); err != nil || len(rows) != pages*each {
			t.Fatalf("%s: got %d rows, %v", mode, len(rows), err)
		}
		if got.index(t) < rows[len(rows)-1].ModifyIndex {
			t.Errorf("%s: the index is %d, and a row has %d", mode, got.index(t), rows[len(rows)-1].ModifyIndex)
		}
	}
	var names []string
	if err := json.Unmarshal([]byte(r.send("GET", "/v1/kv/many/?keys&separator=/", "").body), &names); err != nil || len(names) != pages {
		t.Fatalf("got %v, %v", names, err)
	}
	r.want("DELETE", "/v1/kv/many?recurse", "", 200, "true")
	r.want("GET", "/v1/kv/?keys", "", 200, "[]")
}

// TestLocksAreConsuls acquires and releases as clients of Consul do.
func TestLocksAreConsuls(t *testing.T) {
	r := newRig(t)
	one, two := r.session(`{"LockDelay":"1ns"}`), r.session(`{"LockDelay":"60s"}`)
	r.want("PUT", "/v1/kv/l?acquire="+one+"&flags=3304740253564472344", "one", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+two, "two", 200, "false")
	r.want("PUT", "/v1/kv/l?acquire="+one, "again", 200, "true")
	if got := r.row("l"); got.LockIndex != 1 || got.Session != one || string(got.Value) != "again" || got.Flags != 0 {
		t.Errorf("got %+v", got)
	}
	r.want("PUT", "/v1/kv/l", "plain", 200, "true")
	if got := r.row("l"); got.LockIndex != 1 || got.Session != one || string(got.Value) != "plain" {
		t.Errorf("after a plain put: got %+v", got)
	}
	r.want("PUT", "/v1/kv/l?release="+two, "", 200, "false")
	r.want("PUT", "/v1/kv/l?release="+one, "", 200, "true")
	r.want("PUT", "/v1/kv/l?release="+one, "", 200, "false")
	if got := r.row("l"); got.LockIndex != 1 || got.Session != "" || got.Value != nil {
		t.Errorf("after the release: got %+v", got)
	}
	r.want("PUT", "/v1/kv/l?acquire="+two, "two", 200, "true")
	if got := r.row("l"); got.LockIndex != 2 {
		t.Errorf("LockIndex is %d, want 2", got.LockIndex)
	}
	// A delete frees the lock, without delay.
	r.want("DELETE", "/v1/kv/l", "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+one, "one", 200, "true")
	r.want("DELETE", fmt.Sprintf("/v1/kv/l?cas=%d", r.row("l").ModifyIndex), "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+two, "two", 200, "true")
	r.want("DELETE", "/v1/kv/l?recurse", "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+one, "one", 200, "true")
	// What is lost by force is delayed, unless the session wanted none, or nearly none.
	r.want("PUT", "/v1/kv/d?acquire="+two, "", 200, "true")
	r.want("PUT", "/v1/session/destroy/"+two, "", 200, "true")
	r.want("PUT", "/v1/kv/d?acquire="+one, "", 200, "false")
	gone := r.session(`{"LockDelay":0}`)
	r.want("PUT", "/v1/kv/e?acquire="+gone, "", 200, "true")
	r.want("PUT", "/v1/session/destroy/"+gone, "", 200, "true")
	r.want("PUT", "/v1/kv/e?acquire="+one, "", 200, "true")
}

// TestSessionsThatDoNotExistCannotLock is the table of texts that programs look for.
func TestSessionsThatDoNotExistCannotLock(t *testing.T) {
	r := newRig(t)
	gone := r.session("")
	r.want("PUT", "/v1/session/destroy/"+gone, "", 200, "true")
	for _, id := range []string{gone, "11111111-2222-3333-4444-555555555555", "nonsense", "%ff"} {
		got := r.send("PUT", "/v1/kv/l?acquire="+id, "")
		if got.status != 500 || !strings.HasPrefix(got.body, "invalid session") {
			t.Errorf("acquire by %s: got %d %s", id, got.status, got.body)
		}
		r.want("PUT", "/v1/kv/l?release="+id, "", 200, "false")
	}
	r.want("PUT", "/v1/kv/l?acquire=", "", 500, "missing session")
	r.want("PUT", "/v1/kv/l?acquire", "", 500, "missing session")
	r.want("PUT", "/v1/kv/l?release=", "", 500, "missing session")
	r.want("GET", "/v1/kv/l", "", 404, "")
}

// TestSecretsOfNativeSessionsHold acts as a session that has a secret.
func TestSecretsOfNativeSessionsHold(t *testing.T) {
	r := newRig(t)
	made, err := tenurev1.NewSessionServiceClient(r.grpc).CreateSession(t.Context(), &tenurev1.CreateSessionRequest{WantSecret: true, Name: "native"})
	if err != nil {
		t.Fatal(err)
	}
	id := made.GetSessionId()
	for _, path := range []string{"/v1/kv/l?acquire=" + id, "/v1/kv/l?release=" + id, "/v1/session/destroy/" + id, "/v1/session/renew/" + id} {
		r.want(http.MethodPut, path, "", 403, "Permission denied")
	}
	if got := r.send("GET", "/v1/session/info/"+id, ""); !strings.Contains(got.body, `"Name":"native"`) {
		t.Errorf("got %s, want the session listed", got.body)
	}
	// Nor does a delete free what it holds.
	kv := tenurev1.NewKVServiceClient(r.grpc)
	held, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: "l", Acquire: id, Options: &tenurev1.CallOptions{SessionSecret: made.GetSecret(), Epoch: 1}})
	if err != nil || !held.GetAcquired() {
		t.Fatalf("got %v, %v", held, err)
	}
	r.want("DELETE", "/v1/kv/l", "", 200, "true")
	r.want("PUT", "/v1/kv/l?acquire="+r.session(""), "", 200, "false")
}
