package consulhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/consulhttp"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// rig is a member that serves Consul's HTTP, and a client of it.
type rig struct {
	t        *testing.T
	base     string
	grpc     *grpc.ClientConn
	registry *prometheus.Registry
	client   *http.Client
	show     func(*http.Request) // adds the credential of all requests; nil: they have none
}

// newRig runs a member on a file system in memory, until the test ends.
func newRig(t *testing.T, adjust ...func(*consulhttp.Options)) *rig {
	t.Helper()
	return newMemberRig(t, func(*server.Config) {}, adjust...)
}

// newMemberRig is newRig with a member that is set up otherwise.
func newMemberRig(t *testing.T, set func(*server.Config), adjust ...func(*consulhttp.Options)) *rig {
	t.Helper()
	registry, name := prometheus.NewRegistry(), ""
	config := server.Config{
		DataDir: "data", FS: storage.NewMemFS(), Name: "node-1", Version: "test",
		ListenAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0", ConsulAddr: "127.0.0.1:0",
		Tick: 5 * time.Millisecond, Registry: registry,
		Consul: func(conn grpc.ClientConnInterface) (http.Handler, error) {
			o := consulhttp.Options{Conn: conn, Member: name, Version: "test", Registerer: registry}
			for _, a := range adjust {
				a(&o)
			}
			return consulhttp.New(o)
		},
	}
	set(&config)
	name = config.Name
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if end := <-ended; end != nil {
			t.Errorf("Run returned %v, want nil", end)
		}
	})
	select {
	case <-s.Ready():
	case end := <-ended:
		ended <- nil
		t.Fatalf("Run ended before it was ready: %v", end)
	case <-time.After(patience):
		t.Fatal("member is not ready")
	}
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, base: "http://" + s.Addresses().Consul, grpc: conn, registry: registry,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: patience},
	}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		_ = conn.Close()
	})
	return r
}

// as returns the rig as that of a caller.
func (r *rig) as(show func(*http.Request)) *rig {
	other := *r
	other.show = show
	return &other
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   string
}

// index is the index of a read.
func (r *reply) index(t *testing.T) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.header.Get("X-Consul-Index"), 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("the index is %q, want a number from 1", r.header.Get("X-Consul-Index"))
	}
	return n
}

// send sends a request.
func (r *rig) send(method, path, body string) *reply {
	r.t.Helper()
	got, err := r.try(r.t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// try sends a request from any goroutine.
func (r *rig) try(ctx context.Context, method, path string, body io.Reader, adjust ...func(*http.Request)) (*reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, body)
	if err != nil {
		return nil, err
	}
	// As curl has it with --data.
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if r.show != nil {
		r.show(request)
	}
	for _, a := range adjust {
		a(request)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(response.Body)
	return &reply{response.StatusCode, response.Header, string(data)}, errors.Join(err, response.Body.Close())
}

// want sends a request and fails unless the answer is as it must be.
func (r *rig) want(method, path, body string, status int, text string) *reply {
	r.t.Helper()
	got := r.send(method, path, body)
	if got.status != status || got.body != text {
		r.t.Fatalf("%s %s: got %d %s, want %d %s", method, path, got.status, got.body, status, text)
	}
	return got
}

// session creates a session and returns its id.
func (r *rig) session(body string) string {
	r.t.Helper()
	return r.sessionAs(body, func(*http.Request) {})
}

// sessionAs is session with a credential.
func (r *rig) sessionAs(body string, show func(*http.Request)) string {
	r.t.Helper()
	got := r.sendAs("PUT", "/v1/session/create", body, show)
	var created struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &created); err != nil || got.status != http.StatusOK {
		r.t.Fatalf("create a session: got %d %s", got.status, got.body)
	}
	return created.ID
}

// row is a key as it is shown.
type row struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string
	CreateIndex uint64
	ModifyIndex uint64
}

// row returns a key.
func (r *rig) row(key string) row {
	r.t.Helper()
	got := r.send("GET", "/v1/kv/"+key, "")
	var rows []row
	if err := json.Unmarshal([]byte(got.body), &rows); err != nil || len(rows) != 1 {
		r.t.Fatalf("get %s: got %d %s", key, got.status, got.body)
	}
	return rows[0]
}

// counter returns the value of a metric without labels.
func (r *rig) counter(name string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	r.t.Fatalf("there is no metric %s", name)
	return 0
}

// awaitBlocked waits until so many requests block.
func (r *rig) awaitBlocked(n int) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for r.counter("tenure_consul_blocked") != float64(n) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%v requests block, want %d", r.counter("tenure_consul_blocked"), n)
		}
		r.want("GET", "/v1/agent/version", "", http.StatusOK, `{"SHA":"tenure-test","BuildDate":"","HumanVersion":"1.22.0","FIPS":""}`)
	}
}

// awaitGauge waits until a metric has a value.
func (r *rig) awaitGauge(name string, want float64) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); r.counter(name) != want; {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s is %v, want %v", name, r.counter(name), want)
		}
		r.send("GET", "/v1/agent/version", "")
	}
}

// block sends a request that blocks, and returns where its answer comes.
func (r *rig) block(path string) <-chan *reply {
	out := make(chan *reply, 1)
	ctx := r.t.Context()
	go func() {
		got, err := r.try(ctx, http.MethodGet, path, nil)
		if err != nil {
			got = &reply{body: err.Error()}
		}
		out <- got
	}()
	return out
}

// await returns an answer that must come.
func await(t *testing.T, c <-chan *reply) *reply {
	t.Helper()
	select {
	case got := <-c:
		return got
	case <-time.After(patience):
		t.Fatal("no answer")
		return nil
	}
}

// compact returns JSON without spaces.
func compact(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

// list is a JSON array of texts.
func list(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}
