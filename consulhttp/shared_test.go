package consulhttp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// calls returns how many calls of a method the member has answered.
func (r *rig) calls(method string) (n float64) {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "tenure_server_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.HasSuffix(l.GetValue(), method) {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// TestRequestsThatWaitForTheSameShare blocks many requests on each of some paths: each path costs one watch while they wait, and one read when they
// are woken. All get the same.
func TestRequestsThatWaitForTheSameShare(t *testing.T) {
	const each = 40
	r := newRig(t)
	r.want("PUT", "/v1/kv/first", "1", 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	r.want("PUT", "/v1/kv/p/1", "1", 200, "true")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	paths := []struct{ path, read, has string }{
		{"/v1/kv/a?", "KVService/Get", `"Value":"Mg=="`},
		{"/v1/kv/a?stale&", "KVService/Get", `"Value":"Mg=="`},
		{"/v1/kv/p/?recurse&", "KVService/List", `"Key":"p/2"`},
		{"/v1/catalog/nodes?", "CatalogService/ListNodes", `"Node":"other"`},
	}
	for round := range 2 {
		var waits []<-chan *reply
		for _, p := range paths {
			index := r.send("GET", p.path, "").index(t)
			for range each {
				waits = append(waits, r.block(fmt.Sprintf("%sindex=%d&wait=10m", p.path, index)))
			}
		}
		r.awaitBlocked(each * len(paths))
		if n := r.counter("tenure_consul_watches"); n != float64(len(paths)) {
			t.Errorf("%d requests wait with %v watches, want %d", each*len(paths), n, len(paths))
		}
		before := map[string]float64{}
		for _, p := range paths {
			before[p.read] = r.calls(p.read)
		}
		r.want("PUT", "/v1/kv/a", "2", 200, "true")
		r.want("PUT", "/v1/kv/p/2", fmt.Sprint(round), 200, "true")
		r.want("PUT", "/v1/catalog/register", fmt.Sprintf(`{"Node":"other","Address":"10.0.0.%d"}`, round), 200, "true")
		for i, wait := range waits {
			p := paths[i/each]
			if got := await(t, wait); got.status != 200 || !strings.Contains(got.body, p.has) || got.header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s: got %d %s", p.path, got.status, got.body)
			}
		}
		for read, most := range map[string]float64{"KVService/Get": 2, "KVService/List": 1, "CatalogService/ListNodes": 1} {
			// Looking at a stale read's leader, and waiting for its index, are other calls.
			if n := r.calls(read) - before[read]; n != most {
				t.Errorf("%s: %v calls for %d requests that were woken, want %v", read, n, each, most)
			}
		}
	}
	if n := r.counter("tenure_consul_watches"); n != 0 {
		t.Errorf("%v watches are open in the end", n)
	}
}

// TestWhatIsAskedForDiffersIsAnsweredApart lets requests with one watch ask for different forms of the same.
func TestWhatIsAskedForDiffersIsAnsweredApart(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	forms := map[string]string{"": `[{"LockIndex":0,"Key":"a","Flags":0,"Value":"Mg==","CreateIndex":1,"ModifyIndex":3}]`, "raw&": "2", "consistent&raw&": "2"}
	waits := map[string][]<-chan *reply{}
	for form := range forms {
		for range 5 {
			waits[form] = append(waits[form], r.block("/v1/kv/a?"+form+"index=2&wait=10m"))
		}
	}
	r.awaitBlocked(15)
	r.want("PUT", "/v1/kv/a", "2", 200, "true")
	for form, all := range waits {
		for _, wait := range all {
			got := await(t, wait)
			if got.status != 200 || got.body != forms[form] || got.index(t) != 3 {
				t.Errorf("%q: got %d %s with index %s, want %s", form, got.status, got.body, got.header.Get("X-Consul-Index"), forms[form])
			}
			if effective := got.header.Get("X-Consul-Effective-Consistency"); (effective == "consistent") != strings.HasPrefix(form, "consistent") {
				t.Errorf("%q: the consistency is %q", form, effective)
			}
		}
	}
}

// TestOthersDoNotGetWhatOneMayRead blocks requests with a token that may read a key, with one that may not, and without any: those without the right
// are refused, before and while another waits for the same.
func TestOthersDoNotGetWhatOneMayRead(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	token := r.bootstrap("key \"secret/\"* rw\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for range 2 {
		if got := r.sendAs("PUT", "/v1/kv/secret/a?", "hidden", show); got.body != "true" {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/kv/secret/a?", "/v1/kv/secret/?recurse&", "/v1/kv/secret/?keys&"} {
		index := r.sendAs("GET", path, "", show).index(t)
		blocking := fmt.Sprintf("%sindex=%d&wait=10m", path, index)
		waiting := make(chan *reply, 1)
		go func() {
			got, err := r.try(t.Context(), "GET", blocking, nil, show)
			if err != nil {
				got = &reply{body: err.Error()}
			}
			waiting <- got
		}()
		t.Cleanup(func() {
			select {
			case got := <-waiting: // Nobody has looked at it.
				t.Logf("%s: got %d %s", blocking, got.status, got.body)
			default:
			}
		})
		r.awaitBlocked(1)
		for what, other := range map[string]func(*http.Request){
			"no token":    func(*http.Request) {},
			"an old one":  func(q *http.Request) { q.Header.Set("X-Consul-Token", token[:len(token)-1]+"x") },
			"two of them": func(q *http.Request) { show(q); q.Header.Set("Authorization", "Bearer x") },
		} {
			if got := r.sendAs("GET", blocking, "", other); got.status != http.StatusForbidden || strings.Contains(got.body, "hidden") {
				t.Errorf("%s with %s: got %d %s, want 403", path, what, got.status, got.body)
			}
		}
		if got := r.sendAs("PUT", "/v1/kv/secret/a?", "hidden", show); got.body != "true" {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if got := await(t, waiting); got.status != 200 || got.index(t) <= index {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}

// TestALongListIsReadWithinATurn wakes requests for a list of more than a page: each reads its own pages, and all are whole.
func TestALongListIsReadWithinATurn(t *testing.T) {
	r := newRig(t)
	kv := tenurev1.NewKVServiceClient(r.grpc)
	const keys = 1500
	for i := range keys {
		if _, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: fmt.Sprintf("p/%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	index := r.send("GET", "/v1/kv/p/?recurse", "").index(t)
	var waits []<-chan *reply
	for range 10 {
		waits = append(waits, r.block(fmt.Sprintf("/v1/kv/p/?keys&index=%d&wait=10m", index)))
	}
	r.awaitBlocked(len(waits))
	r.want("PUT", "/v1/kv/p/9999", "", 200, "true")
	for _, wait := range waits {
		if got := await(t, wait); got.status != 200 || strings.Count(got.body, `"p/`) != keys+1 {
			t.Errorf("got %d with %d keys, want %d", got.status, strings.Count(got.body, `"p/`), keys+1)
		}
	}
}

// TestABadNearIsRefusedBeforeTheWait asks with an index that nothing follows.
func TestABadNearIsRefusedBeforeTheWait(t *testing.T) {
	r := newRig(t, func(o *consulhttp.Options) { o.BlockedMax = 2 })
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	for _, path := range []string{"catalog/nodes", "catalog/service/web", "health/service/web", "health/checks/web"} {
		r.want("GET", "/v1/"+path+"?near=%ff&index=2&wait=10m", "", 400, "Parameter near is not valid UTF-8.")
	}
}
