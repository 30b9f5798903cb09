package consulhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/server"
)

// txnAnswer is the answer to a transaction.
type txnAnswer struct {
	Results []struct{ KV row }
	Errors  []struct {
		OpIndex int
		What    string
	}
}

// txn sends a transaction of operations on keys, each as the inside of its JSON.
func (r *rig) txn(status int, ops ...string) *txnAnswer {
	r.t.Helper()
	for i := range ops {
		ops[i] = `{"KV":{` + ops[i] + `}}`
	}
	got := r.send("PUT", "/v1/txn", "["+strings.Join(ops, ",")+"]")
	out := &txnAnswer{}
	if got.status != status || got.status != 200 && got.status != 409 {
		r.t.Fatalf("got %d %s, want %d", got.status, got.body, status)
	}
	if err := json.Unmarshal([]byte(got.body), out); err != nil {
		r.t.Fatalf("got %s: %v", got.body, err)
	}
	return out
}

func TestTransactionsAreShownAsConsulShowsThem(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"a","Value":"aGk=","Flags":16210313421097356768}},{"kv":{"verb":"get","key":"a"}},{"KV":{"Verb":"delete","Key":"none"}}]`,
		200, `{"Results":[{"KV":{"LockIndex":0,"Key":"a","Flags":16210313421097356768,"Value":null,"CreateIndex":1,"ModifyIndex":1}},`+
			`{"KV":{"LockIndex":0,"Key":"a","Flags":16210313421097356768,"Value":"aGk=","CreateIndex":1,"ModifyIndex":1}}],"Errors":null}`)
	r.want("PUT", "/v1/txn", `[{"KV":{"Verb":"get","Key":"none"}}]`, 409, `{"Results":null,"Errors":[{"OpIndex":0,"What":"key \"none\" doesn't exist"}]}`)
	r.want("PUT", "/v1/txn", `[]`, 200, `{"Results":null,"Errors":null}`)
	read := r.send("PUT", "/v1/txn?stale", `[{"KV":{"Verb":"get","Key":"a"}}]`)
	if read.header.Get("X-Consul-Index") != "" || read.header.Get("X-Consul-Knownleader") != "true" || read.header.Get("X-Consul-Lastcontact") != "0" {
		t.Errorf("headers of a transaction that reads: %v", read.header)
	}
	write := r.send("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"a"}}]`)
	if write.header.Get("X-Consul-Knownleader") != "" {
		t.Errorf("headers of a transaction that writes: %v", write.header)
	}
}

// TestVerbsOfTransactions is the table of verbs: what each answers where it succeeds.
func TestVerbsOfTransactions(t *testing.T) {
	r := newRig(t)
	id := r.session("")
	for _, key := range []string{"a", "tree/1", "tree/2", "dead", "dead-cas"} {
		r.want("PUT", "/v1/kv/"+key, "v", 200, "true")
	}
	at := r.row("a").ModifyIndex
	got := r.txn(200,
		fmt.Sprintf(`"Verb":"check-index","Key":"a","Index":%d`, at),
		fmt.Sprintf(`"Verb":"cas","Key":"a","Index":%d,"Value":"dw=="`, at),
		`"Verb":"cas","Key":"new","Index":0`,
		`"Verb":"check-not-exists","Key":"none"`,
		`"Verb":"get-or-empty","Key":"none"`,
		`"Verb":"get-tree","Key":"tree/"`,
		`"Verb":"lock","Key":"l","Session":"`+id+`","Value":"dg=="`,
		`"Verb":"check-session","Key":"l","Session":"`+id+`"`,
		`"Verb":"delete","Key":"dead"`,
		fmt.Sprintf(`"Verb":"delete-cas","Key":"dead-cas","Index":%d`, r.row("dead-cas").ModifyIndex),
		`"Verb":"delete-cas","Key":"gone","Index":7`,
		`"Verb":"delete-tree","Key":"tree/"`,
	)
	var keys []string
	for _, result := range got.Results {
		keys = append(keys, result.KV.Key)
	}
	if want := "a a new none tree/1 tree/2 l l"; strings.Join(keys, " ") != want {
		t.Errorf("the results are of %v, want %s", keys, want)
	}
	if l := got.Results[6].KV; l.LockIndex != 1 || l.Session != id || l.Value != nil {
		t.Errorf("the lock is %+v", l)
	}
	if none := got.Results[3].KV; none.ModifyIndex != 0 || none.Value != nil {
		t.Errorf("what is missing is shown as %+v", none)
	}
	got = r.txn(200, `"Verb":"unlock","Key":"l","Session":"`+id+`"`)
	if l := got.Results[0].KV; l.Session != "" || l.LockIndex != 1 {
		t.Errorf("the lock is %+v", l)
	}
	r.want("GET", "/v1/kv/?keys", "", 200, list("a", "l", "new"))
}

// TestAllFailingOperationsAreNamed fails in all ways at once, and changes nothing.
func TestAllFailingOperationsAreNamed(t *testing.T) {
	r := newRig(t)
	id, other, gone := r.session(`{"LockDelay":"60s"}`), r.session(""), r.session("")
	r.want("PUT", "/v1/session/destroy/"+gone, "", 200, "true")
	r.want("PUT", "/v1/kv/held?acquire="+id, "", 200, "true")
	lost := r.session(`{"LockDelay":"60s"}`)
	r.want("PUT", "/v1/kv/delayed?acquire="+lost, "", 200, "true")
	r.want("PUT", "/v1/session/destroy/"+lost, "", 200, "true")
	ops := []struct{ op, what string }{
		{`"Verb":"set","Key":"ok"`, ""},
		{`"Verb":"cas","Key":"none","Index":7`, "index is stale"},
		{`"Verb":"lock","Key":"x"`, "missing session"},
		{`"Verb":"lock","Key":"x2","Session":"` + gone + `"`, "invalid session"},
		{`"Verb":"lock","Key":"x3","Session":"nonsense"`, "invalid session"},
		{`"Verb":"lock","Key":"held","Session":"` + other + `"`, "lock is already held"},
		{`"Verb":"lock","Key":"delayed","Session":"` + other + `"`, "due to lock delay"},
		{`"Verb":"unlock","Key":"x4","Session":"` + other + `"`, "lock isn't held, or is held by another session"},
		{`"Verb":"unlock","Key":"x5","Session":"` + gone + `"`, "lock isn't held, or is held by another session"},
		{`"Verb":"unlock","Key":"x6"`, "missing session"},
		{`"Verb":"get","Key":"none2"`, "doesn't exist"},
		{`"Verb":"set","Key":""`, "Must provide key"},
		{`"Verb":"get-tree","Key":""`, "Must provide key"},
		{`"Verb":"check-session","Key":"held","Session":"` + other + `"`, "failed session check"},
		{`"Verb":"check-session","Key":"held","Session":"nonsense"`, "failed session check"},
		{`"Verb":"check-session","Key":"none3"`, "failed session check"},
		{`"Verb":"check-index","Key":"held","Index":1`, "failed index check"},
		{`"Verb":"check-index","Key":"none4","Index":0`, "failed index check"},
		{`"Verb":"check-not-exists","Key":"held"`, "exists"},
		{`"Verb":"delete-cas","Key":"held2","Index":1`, "index is stale"},
		{`"Verb":"delete","Key":"none5"`, ""},
		{`"Verb":"delete-cas","Key":"none6","Index":1`, ""},
	}
	r.want("PUT", "/v1/kv/held2", "", 200, "true")
	before := r.send("GET", "/v1/kv/?recurse", "")
	var texts []string
	want := map[int]string{}
	for i, o := range ops {
		texts = append(texts, o.op)
		if o.what != "" {
			want[i] = o.what
		}
	}
	got := r.txn(409, texts...)
	if got.Results != nil || len(got.Errors) != len(want) {
		t.Errorf("got %+v, want %v", got, want)
	}
	for _, e := range got.Errors {
		if want[e.OpIndex] == "" || !strings.Contains(e.What, want[e.OpIndex]) {
			t.Errorf("operation %d: got %q, want %q", e.OpIndex, e.What, want[e.OpIndex])
		}
	}
	if after := r.send("GET", "/v1/kv/?recurse", ""); after.body != before.body {
		t.Errorf("it was %s, and is %s", before.body, after.body)
	}
}

// TestTransactionsThatAreRefused is the table of mistakes.
func TestTransactionsThatAreRefused(t *testing.T) {
	r := newRig(t)
	many := strings.TrimSuffix(strings.Repeat(`{"KV":{"Verb":"get","Key":"a"}},`, 129), ",")
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		``:                                {400, "Failed to parse body: it must be a JSON array of operations."},
		`{}`:                              {400, "Failed to parse body"},
		`[`:                               {400, "Failed to parse body"},
		`[{}]`:                            {400, "Operation 0 has no kind; it must have KV, Node, Service or Check."},
		`[{"KV":{"Verb":"x","Key":"a"}}]`: {400, `unknown KV verb "x"`},
		`[{"KV":{"Verb":"","Key":""}}]`:   {400, ""},
		`[{"KV":{"Verb":"set","Key":"a","Value":"?"}}]`:                            {400, "Failed to parse body"},
		`[{"KV":{"Verb":"set","Key":"` + strings.Repeat("k", 1025) + `"}}]`:        {400, "The key is 1025 bytes long; at most 1024 are allowed."},
		`[{"KV":{"Verb":"set","Key":"a"}},{"KV":{"Verb":"set","Key":"a"}}]`:        {400, ""},
		`[{"KV":{"Verb":"set","Key":"a"}},{"KV":{"Verb":"delete-tree","Key":""}}]`: {400, ""},
		`[{"Node":{"Verb":"get"}}]`:                                                {400, ""},
		`[{"KV":{"Verb":"get","Key":"a"}},{"Service":{}}]`:                         {400, ""},
		`[` + many + `]`: {413, "Transaction contains too many operations (129 > 128)"},
		`[{"KV":{"Verb":"set","Key":"a","Value":"` + strings.Repeat("YQ==", 200_000) + `"}}]`: {413, "Request body too large, max size: 524288 bytes."},
	} {
		got := r.send("PUT", "/v1/txn", body)
		if got.status != want.status || !strings.HasPrefix(got.body, want.text) || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%.80s: got %d %s, want %d %s", body, got.status, got.body, want.status, want.text)
		}
	}
	r.want("PUT", "/v1/txn?stale&consistent", "[]", 400, "Parameters stale and consistent must not be given together.")
	// A transaction that writes shows at most 64 KiB.
	r.want("PUT", "/v1/kv/large", strings.Repeat("x", 70_000), 200, "true")
	if got := r.send("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"a"}},{"KV":{"Verb":"get","Key":"large"}}]`); got.status != 413 {
		t.Errorf("got %d %s, want 413", got.status, got.body)
	}
	r.want("GET", "/v1/kv/a", "", 404, "")
}

// TestATransactionThatWasCommittedIsNotAnsweredAsAFailure reads more below a prefix than a transaction shows.
func TestATransactionThatWasCommittedIsNotAnsweredAsAFailure(t *testing.T) {
	r := newRig(t)
	r.fill("tree/", 1001)
	const tree = `{"KV":{"Verb":"get-tree","Key":"tree/"}}`
	const large = `Prefix "tree/" has more than 1000 keys; read it with ?recurse.`
	r.want("PUT", "/v1/txn", "["+tree+"]", 413, large)
	r.want("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"other"}},`+tree+"]", 413, large)
	r.want("GET", "/v1/kv/other", "", 404, "")
	// What it deletes before, it does not show.
	if got := r.txn(200, `"Verb":"delete-tree","Key":"tree"`, `"Verb":"get-tree","Key":"tree/"`); len(got.Results) != 0 {
		t.Errorf("got %d results after all keys were deleted, want none", len(got.Results))
	}
	// What it writes itself counts only when it is done.
	r.fill("tree/", 1000)
	got := r.txn(200, `"Verb":"set","Key":"tree/new"`, `"Verb":"get-tree","Key":"tree/"`)
	if n := len(got.Results); n != 1002 || got.Results[n-1].KV.Key != "tree/new" {
		t.Errorf("got %d results, want the key that was written, and 1001 keys", n)
	}
	r.want("PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"other"}},`+tree+"]", 413, large)
}

// TestATransactionShowsWhatItCheckedToWhomeverMayReadIt checks keys that a token may read and not list, and writes another one.
func TestATransactionShowsWhatItCheckedToWhomeverMayReadIt(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/kv/state", "v", 200, "true")
	state := r.row("state")
	token := r.bootstrap("key \"state\" read\nkey \"job\" write\n")
	as := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	got := r.sendAs("PUT", "/v1/txn", fmt.Sprintf(
		`[{"KV":{"Verb":"set","Key":"job"}},{"KV":{"Verb":"check-index","Key":"state","Index":%d}}]`, state.ModifyIndex), as)
	var shown txnAnswer
	if err := json.Unmarshal([]byte(got.body), &shown); err != nil || got.status != 200 || len(shown.Results) != 2 {
		t.Fatalf("got %d %s, want 200 and two results", got.status, got.body)
	}
	if is := shown.Results[1].KV; is.Key != "state" || is.ModifyIndex != state.ModifyIndex || is.CreateIndex != state.CreateIndex || is.Value != nil {
		t.Errorf("the key that was checked is shown as %+v, want %+v without its value", is, state)
	}
}

// TestAnOperationThatFailsHereTakesNoOtherRight is about operations that are found to fail without the cluster: with a token that may do what the
// others ask for, they are listed as with any token.
func TestAnOperationThatFailsHereTakesNoOtherRight(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	token := r.bootstrap("key \"jobs/\"* write\nkey \"seen\" read\nkey \"both\" rw\nnode \"n\" write\n")
	as := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for name, test := range map[string]struct {
		ops  string
		want []string
	}{
		"a lock without a session":           {`{"KV":{"Verb":"lock","Key":"jobs/a"}}`, []string{"0 missing session"}},
		"beside a write":                     {`{"KV":{"Verb":"set","Key":"jobs/b"}},{"KV":{"Verb":"lock","Key":"jobs/a"}}`, []string{"1 missing session"}},
		"a check with a malformed session":   {`{"KV":{"Verb":"check-session","Key":"seen","Session":"x"}}`, []string{"0 failed session check"}},
		"an operation without a key":         {`{"KV":{"Verb":"set"}}`, []string{"0 Must provide key"}},
		"without a key beside a write":       {`{"KV":{"Verb":"get"}},{"KV":{"Verb":"set","Key":"both"}}`, []string{"0 Must provide key"}},
		"without a key beside a write alone": {`{"KV":{"Verb":"get"}},{"KV":{"Verb":"set","Key":"both"}},{"KV":{"Verb":"get","Key":"seen"}}`, []string{"0 Must provide key", `2 key "seen" doesn't exist`}},
		"without a key beside such a lock":   {`{"KV":{"Verb":"get"}},{"KV":{"Verb":"lock","Key":"jobs/a"}}`, []string{"0 Must provide key", "1 missing session"}},
		"a node that is missing":             {`{"Node":{"Verb":"get","Node":{"Node":"n"}}}`, []string{`0 node "n" doesn't exist`}},
		"two of them": {
			`{"Node":{"Verb":"get","Node":{"Node":"n"}}},{"KV":{"Verb":"get","Key":"seen"}}`,
			[]string{`0 node "n" doesn't exist`, `1 key "seen" doesn't exist`},
		},
		"a node that is missing beside one that is written": {
			`{"Node":{"Verb":"get","Node":{"Node":"n"}}},{"Node":{"Verb":"cas","Node":{"Node":"n","Address":"10.0.0.1"}}}`,
			[]string{`0 node "n" doesn't exist`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.sendAs("PUT", "/v1/txn", "["+test.ops+"]", as)
			var answer txnAnswer
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != 409 || len(answer.Errors) != len(test.want) {
				t.Fatalf("got %d %s, want 409 and %q", got.status, got.body, test.want)
			}
			for i, e := range answer.Errors {
				if is := fmt.Sprint(e.OpIndex, " ", e.What); !strings.HasPrefix(is, test.want[i]) {
					t.Errorf("got %q, want %q", is, test.want[i])
				}
			}
		})
	}
}

// TestATransactionThatFailsHereTouchesNoCheck is about checks with a short name beside an operation that is found to fail without the cluster.
func TestATransactionThatFailsHereTouchesNoCheck(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/catalog/register", `{"Node":"n","Address":"10.0.0.1","Service":{"Service":"theirs"},"Checks":[{"CheckID":"-","ServiceID":"theirs"}]}`, 200, "true")
	r.want("PUT", "/v1/catalog/register", `{"Node":"m","Address":"10.0.0.2"}`, 200, "true")
	token := r.bootstrap("node * write\n")
	as := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	const missing = `{"Check":{"Verb":"get","Check":{"Node":"m","CheckID":"none"}}},`
	for name, ops := range map[string]string{
		"it is written":      missing + `{"Check":{"Verb":"set","Check":{"Node":"m","CheckID":"-","Status":"passing"}}}`,
		"it is of a service": missing + `{"Node":{"Verb":"set","Node":{"Node":"n","Address":"10.0.0.3"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := r.sendAs("PUT", "/v1/txn", "["+ops+"]", as)
			const want = `"Errors":[{"OpIndex":0,"What":"check \"none\" on node \"m\" doesn't exist"}]`
			if got.status != 409 || !strings.Contains(got.body, want) {
				t.Errorf("got %d %s, want 409 and %s", got.status, got.body, want)
			}
		})
	}
}
