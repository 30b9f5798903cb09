package hostile_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-io/tenure/test/rig"
)

// consulFlag has the members of an attack serve clients of Consul.
var consulFlag = []string{"--consul-http", "127.0.0.1:0"}

// consulGiven is where orders say which address of Consul's HTTP is attacked.
const consulGiven = "consul"

// agentGiven is where orders say which agent's gRPC or REST is attacked.
const agentGiven = "agent"

// consulAttacks are those against what is served for clients of Consul, each by a member and by an agent.
func consulAttacks() []attack {
	var all []attack
	for _, a := range []attack{
		{name: "odd texts everywhere", attack: oddConsul, pins: func(bool) int { return intakeMiB }},
		{name: "odd requests", attack: oddConsulRequests},
		{name: "HTTP at random", attack: randomConsul},
		{name: "what never ends", attack: neverEndConsul, pins: func(long bool) int { return intakeMiB + neverEnding(long)*openKiB>>10 }},
		{
			name: "waits that hang up", attack: waitConsul, after: noWaitIsLeft,
			pins: func(long bool) int { return consulWaits(long) * consulWaitKiB >> 10 },
		},
		{name: "answers that are never read", attack: unreadConsul, pins: func(long bool) int { return answersMiB + unreadConsulAnswers(long)*partKiB>>10 }},
	} {
		a.entry, a.flags = "Consul", consulFlag
		member, agent := a, a
		member.name, agent.name = "Consul's HTTP of a member: "+a.name, "Consul's HTTP of an agent: "+a.name
		member.prepare = func(s *scene) { s.attackConsul(s.member().Addresses.Consul) }
		agent.prepare = func(s *scene) { s.attackConsul(s.startAgent()) }
		agent.after = func(s *scene) {
			s.agentIsInOrder()
			if a.after != nil {
				a.after(s)
			}
		}
		all = append(all, member, agent)
	}
	return all
}

// startAgent starts an agent beside the attacked member, and returns where it serves clients of Consul.
func (s *scene) startAgent() string {
	s.t.Helper()
	s.agent = rig.NewAgent(s.t, binary, "machine", s.member().Addresses.GRPC, append([]string{"--gossip", "off"}, consulFlag...)...)
	s.agent.Restart(s.t.Context())
	return s.agent.Consul
}

// attackConsul has an address attacked that serves clients of Consul, with a quiet one of them beside the attacker.
func (s *scene) attackConsul(address string) {
	s.t.Helper()
	s.given[consulGiven] = address
	putMuch(s)
	s.consul = startQuietConsul(s.t, address, s.agent != nil)
	s.consul.await(s.t, 3)
}

// agentIsInOrder demands that what the agent registers still comes to the catalog.
func (s *scene) agentIsInOrder() {
	s.t.Helper()
	if _, err := s.consul.again(s.t.Context(), http.MethodPut, "agent/service/register", `{"Name":"after","Check":{"TTL":"1h"}}`); err != nil {
		s.t.Error(err)
		return
	}
	index := ""
	for deadline := time.Now().Add(patience); ; {
		body, err := s.consul.again(s.t.Context(), http.MethodGet, "catalog/service/after"+index, "")
		if err != nil || time.Now().After(deadline) {
			s.t.Errorf("what an agent registered after the attack is not in the catalog: %v", err)
			return
		}
		if strings.Contains(body, `"ServiceID":"after"`) {
			return
		}
		index = "?index=2&wait=1s"
	}
}

// consulTexts are how answers of 500 begin that clients of Consul look for.
var consulTexts = []string{
	"invalid session", "missing session", "Invalid Session TTL", "Missing node registration", "Missing check '", "Check '", "No path to datacenter",
}

// textNoLeader is the answer while there is no leader, which may be at any time, and is no fault.
const textNoLeader = "No cluster leader"

// consulStatus counts how a request of Consul's HTTP ended, and reports whether it is to be sent again.
func (a *attacker) consulStatus(what string, code int, body []byte) (again bool) {
	text := string(body)
	known := code < http.StatusInternalServerError || code == http.StatusNotImplemented || code == http.StatusHTTPVersionNotSupported ||
		code == http.StatusInternalServerError &&
			slices.ContainsFunc(append(consulTexts, textNoLeader), func(begins string) bool { return strings.HasPrefix(text, begins) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Answers[fmt.Sprint(code)]++
	if !known {
		a.fault(what, fmt.Sprintf("%d: %.300s", code, body))
	}
	return code == http.StatusTooManyRequests && !strings.Contains(text, "blocked requests") || text == textNoLeader
}

// consulRequest is one request with something odd.
type consulRequest struct {
	method, path, body string
	header             http.Header
}

// consulPatience is how long a request may take that may wait: one that waits longer hangs up.
const consulPatience = 3 * time.Second

// sendConsul sends requests, several at a time, each until it is judged. What the client does not send, and what is cut, is neither.
func (a *attacker) sendConsul(ctx context.Context, all []consulRequest) error {
	client := a.web()
	defer client.CloseIdleConnections()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for _, one := range all {
		g.Go(func() error {
			return a.until(ctx, func() (bool, error) { return !a.sendOne(ctx, client, one), nil })
		})
	}
	return g.Wait()
}

// sendOne sends a request, and reports whether to send it again.
func (a *attacker) sendOne(ctx context.Context, client *http.Client, one consulRequest) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, consulPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, one.method, "http://"+a.Given[consulGiven], strings.NewReader(one.body))
	if err != nil {
		return false
	}
	// As it is, whatever it is.
	r.URL.Opaque = "//" + a.Given[consulGiven] + one.path
	maps.Copy(r.Header, one.header)
	if host := one.header.Get("Host"); host != "" {
		r.Host = host
	}
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<20)) // It may break off.
	return a.consulStatus(fmt.Sprintf("%.200q %.200q %.100q", one.method, one.path, one.body), answer.StatusCode, body)
}

// oddConsulRequests are requests that are odd as a whole: methods, paths, queries, headers, hosts, encodings and JSON.
func oddConsulRequests(ctx context.Context, a *attacker) error {
	var all []consulRequest
	for _, e := range consulEndpoints {
		path := "/v1/" + strings.ReplaceAll(e.path, "{}", "odd")
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW", strings.Repeat("M", 2000)} {
			all = append(all, consulRequest{method: method, path: path})
		}
		for _, query := range []string{
			"?index=1&index=2&wait=1s&wait=10ms", "?stale&consistent&max_stale=1s", "?%zz", "?a=%ff&%ff=a", "?;", "?&&&==&=", "?stale=1&stale=2",
			"?cas=1&cas=2&acquire=a&release=b&flags=1&flags=2", "?keys&recurse&raw&separator=&separator=/", "?" + strings.Repeat("a=b&", 3000), "?dc=dc1&dc=dc2",
		} {
			all = append(all, consulRequest{method: e.method, path: path + query, body: e.body})
		}
		for _, body := range oddJSON() {
			if e.body != "" {
				all = append(all, consulRequest{method: e.method, path: path, body: body})
			}
		}
	}
	for _, path := range []string{
		"/", "//", "/v1", "/v1/", "/v1//", "/v1/kv/../session/list", "/v1/./kv/a", "/v1/kv/%2e%2e/%2f", "/v1/kv/%00", "/v1/kv/a%", "/v1/kv/%zz", "/v1/kv/a#b",
		"/v1/kv/a;b=c", "/v1/kv/ ", "/v1/kv/\\", "/v1/kv/" + strings.Repeat("/", 8000), "/v1/kv/" + strings.Repeat("%41", 1024), "/v1/query/a/execute/execute",
		"/v1/query//execute", "/v1/query/execute", "/v1/session/renew//", "/v1/%6bv/a", "/V1/KV/a", "*", "/debug/pprof/", "/metrics", "/v1/kv/" + strings.Repeat("k", 15_000),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			all = append(all, consulRequest{method: method, path: path})
		}
	}
	for name, values := range map[string][]string{
		"X-Consul-Token":         {"none", "\x80", strings.Repeat("t", 8000), ""},
		"Authorization":          {"Bearer", "Bearer ", "Bearer a b", "Basic Og==", strings.Repeat("Bearer ", 500)},
		"Content-Encoding":       {"gzip", "deflate, gzip", "\x01"},
		"Content-Type":           {"application/x-www-form-urlencoded", "multipart/form-data; boundary=" + strings.Repeat("b", 200), "a/b; charset=utf-16"},
		"Expect":                 {"100-continue", "200-maybe"},
		"Range":                  {"bytes=0-0,1-1,2-2", "bytes=" + strings.Repeat("0-0,", 1000)},
		"Connection":             {"upgrade", "close, keep-alive, x-consul-token"},
		"Upgrade":                {"h2c", "websocket"},
		"If-None-Match":          {"*"},
		"Accept-Encoding":        {strings.Repeat("gzip;q=0.1,", 300)},
		"Host":                   {"evil.example", "127.0.0.1.evil.example:8500", "[::1", "a b"},
		"Origin":                 {"https://evil.example", "null"},
		"Sec-Fetch-Site":         {"cross-site"},
		"X-Forwarded-For":        {"127.0.0.1"},
		"X-Http-Method-Override": {"DELETE"},
		"X-Consul-Namespace":     {"other"},
	} {
		for _, value := range values {
			for _, path := range []string{"/v1/kv/hostile/odd?raw", "/v1/session/create", "/v1/txn"} {
				for _, method := range []string{http.MethodGet, http.MethodPut} {
					all = append(all, consulRequest{method: method, path: path, body: "[]", header: http.Header{name: {value, value}}})
				}
			}
		}
	}
	return a.sendConsul(ctx, all)
}

// randomConsul sends requests of HTTP/1 that are damaged at random, and many after each other that nobody waits for.
func randomConsul(ctx context.Context, a *attacker) error {
	address := a.Given[consulGiven]
	whole := []string{
		"GET /v1/kv/a?index=1&wait=1s HTTP/1.1\r\nHost: %s\r\nX-Consul-Token: none\r\n\r\n",
		"PUT /v1/kv/hostile?cas=0&flags=3 HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nabc",
		"PUT /v1/txn HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[]\n\r\n0\r\n\r\n",
		"PUT /v1/session/create HTTP/1.1\r\nHost: %s\r\nContent-Length: 13\r\n\r\n{\"TTL\":\"15s\"}",
		"GET /v1/health/service/web?passing&near=_agent HTTP/1.1\r\nHost: %s\r\n\r\n",
		strings.Repeat("GET /v1/kv/?recurse HTTP/1.1\r\nHost: %[1]s\r\n\r\n", 40),
	}
	return a.alternate(a.count(600, 60_000), func(r *rand.Rand) error {
		text := damaged(r, fmt.Sprintf(whole[r.IntN(len(whole))], address))
		conn, err := a.raw(ctx, address, string(text))
		if err != nil {
			return err
		}
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // It may be gone.
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetReadDeadline(time.Now().Add(consulPatience)) // It fails only if the connection has ended, as reading will.
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return nil // It was cut, or waits.
		}
		defer func() { _ = answer.Body.Close() }()
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // It may break off.
		a.consulStatus(fmt.Sprintf("%.200q", text), answer.StatusCode, body)
		return nil
	})
}

// neverEndConsul begins requests of every kind that never end.
func neverEndConsul(ctx context.Context, a *attacker) error {
	address := a.Given[consulGiven]
	var all []string
	for put, other := range map[string]string{
		"PUT /v1/kv/hostile": "GET /v1/kv/a", "PUT /v1/txn": "PUT /v1/session/renew/none", "PUT /v1/session/create": "GET /v1/kv/none?index=2&wait=1s",
		"PUT /v1/catalog/register": "GET /v1/status/leader", "POST /v1/query": "DELETE /v1/kv/hostile/none",
	} {
		all = append(all, neverEndingRequests(address, put, other)...)
	}
	return a.neverEnd(ctx, address, all, func(code int, body []byte) { a.consulStatus("what never ends", code, body) })
}

const (
	// consulWaitKiB is what a blocked request takes: its connection, its call and its watch.
	consulWaitKiB = 96
	// consulRead is a read that has an index.
	consulRead = "/v1/kv/much/0"
)

// consulWaits is how many requests block at a time.
func consulWaits(long bool) int {
	if long {
		return 8000
	}
	return 300
}

// waitConsul blocks requests of every kind and hangs up, several times over, and leaves some that wait.
func waitConsul(ctx context.Context, a *attacker) error {
	client := a.web()
	first, err := client.Get("http://" + a.Given[consulGiven] + "/v1/session/list")
	if err != nil {
		return err
	}
	_ = first.Body.Close() // Only the index counts.
	index := "index=" + first.Header.Get("X-Consul-Index") + "&wait=10m"
	reads := []string{
		consulRead + "?", "/v1/kv/none?", "/v1/kv/none?stale&", "/v1/kv/much/?recurse&", "/v1/kv/none/?keys&", "/v1/session/list?", "/v1/session/node/none?",
		"/v1/catalog/nodes?", "/v1/catalog/service/none?", "/v1/health/service/none?passing&", "/v1/health/state/any?", "/v1/query?",
	}
	for round := range 3 {
		for i := range consulWaits(a.Long) {
			conn, err := a.raw(ctx, a.Given[consulGiven], "GET "+reads[i%len(reads)]+index+" HTTP/1.1\r\nHost: "+a.Given[consulGiven]+"\r\n\r\n")
			if err != nil {
				continue // There is no room for another one.
			}
			if round == 2 {
				a.keep(conn)
				continue
			}
			_ = conn.Close() // As a client does that has had enough.
		}
	}
	return nil
}

// noWaitIsLeft demands that what has hung up waits no longer.
func noWaitIsLeft(s *scene) {
	deadline := time.Now().Add(patience)
	for s.consulBlocked() > 0 {
		if time.Now().After(deadline) {
			s.t.Errorf("%v requests wait for clients that have gone", s.consulBlocked())
			return
		}
		s.consul.await(s.t, 1)
	}
}

// unreadConsulAnswers is how many answers are never read.
func unreadConsulAnswers(long bool) int {
	if long {
		return 4000
	}
	return 300
}

// unreadConsul asks for all keys and sessions, over and over, and reads nothing.
func unreadConsul(ctx context.Context, a *attacker) error {
	reads := []string{"/v1/kv/much/?recurse", "/v1/kv/?recurse&pretty", "/v1/kv/?keys", "/v1/session/list", consulRead + "?raw"}
	for i := range unreadConsulAnswers(a.Long) {
		request := "GET " + reads[i%len(reads)] + " HTTP/1.1\r\nHost: " + a.Given[consulGiven] + "\r\n\r\n"
		conn, err := a.raw(ctx, a.Given[consulGiven], strings.Repeat(request, 3))
		if err != nil {
			continue // There is no room for another one.
		}
		a.keep(conn)
	}
	return nil
}
