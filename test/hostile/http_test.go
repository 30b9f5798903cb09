package hostile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// restAttacks are those against REST that the listener for clients of Consul gets, too.
func restAttacks() []attack {
	return []attack{
		{entry: "HTTP", name: "REST: what never ends", attack: neverEndREST, pins: func(long bool) int { return intakeMiB + neverEnding(long)*openKiB>>10 }},
		{entry: "HTTP", name: "REST: waits that hang up", attack: waitREST, alike: waitAndReadREST, after: nothingStays, pins: func(long bool) int {
			return restWaits(long) * consulWaitKiB >> 10
		}},
		{entry: "HTTP", name: "REST: answers that are never read", attack: unreadREST, prepare: putMuch, after: nothingStays, pins: func(long bool) int {
			return answersMiB + unreadConsulAnswers(long)*partKiB>>10
		}},
	}
}

// openKiB is what a connection takes that is not at the end of its request.
const openKiB = 64

// neverEnding is how many requests never end, at a time.
func neverEnding(long bool) int {
	if long {
		return 4000
	}
	return 240
}

// drip is the time between two bytes of a request that comes slowly.
const drip = 100 * time.Millisecond

// neverEndingRequests are the beginnings of requests to an address: headers that do not end, and bodies that do not come or not whole, to paths with
// a body (with a method) and without. What follows a dripMark comes a byte at a time.
func neverEndingRequests(address, put, other string) []string {
	host := " HTTP/1.1\r\nHost: " + address + "\r\n"
	large := strings.Repeat("v", 500_000)
	return []string{
		put + host + "Content-Length: 500001\r\n\r\n" + large,
		put + host + "Transfer-Encoding: chunked\r\n\r\n7a120\r\n" + large + "\r\n",
		put + host + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("e", 100)+"\r\n{\r\n", 100),
		put + host + "Content-Length: 99999999999\r\n\r\n" + large,
		put + host + "Transfer-Encoding: chunked\r\n\r\n7ffffff\r\n" + strings.Repeat(large, 2),
		put + host + "Content-Length: 500001\r\nExpect: 100-continue\r\n\r\n",
		put + host + "Content-Length: 100000\r\n\r\n" + dripMark + strings.Repeat("v", 99_999),
		put + host + "Transfer-Encoding: chunked\r\n\r\n" + dripMark + strings.Repeat("1\r\nv\r\n", 10_000),
		other + host + "Content-Length: 100000\r\n\r\n",
		other + host + "Transfer-Encoding: chunked\r\n\r\n",
		other + host + "Content-Length: 100000\r\n\r\n" + dripMark + strings.Repeat("v", 99_999),
		"GET /nothing" + host + "Content-Length: 10\r\n\r\n",
		other + host + "X-Long: ",
		"GET /v1/",
		other + host + dripMark + strings.Repeat("X-A: b\r\n", 10_000),
		dripMark + other + host + "\r\n",
	}
}

// dripMark separates what comes at once from what comes a byte at a time.
const dripMark = "\x00drip\x00"

// neverEnd begins requests that never end, and notes the answers. In the long form it returns when all connections have ended, whatever their clients do.
func (a *attacker) neverEnd(ctx context.Context, address string, requests []string, answered func(code int, body []byte)) error {
	var begun, ended atomic.Int64
	for i := range neverEnding(a.Long) {
		at, slow, _ := strings.Cut(requests[i%len(requests)], dripMark)
		conn, err := a.raw(ctx, address, at)
		if err != nil {
			continue // There is no room for another one.
		}
		a.keep(conn)
		begun.Add(1)
		go func() { // It ends with the connection.
			defer ended.Add(1)
			in := bufio.NewReader(conn)
			for {
				answer, err := http.ReadResponse(in, nil)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // It may break off.
				_ = answer.Body.Close()
				answered(answer.StatusCode, body)
			}
		}()
		if slow == "" {
			continue
		}
		go func() { // The same.
			tick := time.NewTicker(drip)
			defer tick.Stop()
			for _, part := range []byte(slow) {
				if _, err := conn.Write([]byte{part}); err != nil {
					return
				}
				<-tick.C
			}
		}()
	}
	if begun.Load() == 0 {
		return fmt.Errorf("none of %d connections to %s could be made", neverEnding(a.Long), address)
	}
	if !a.Long {
		return nil
	}
	return a.until(ctx, func() (bool, error) {
		left := begun.Load() - ended.Load()
		return left == 0, fmt.Errorf("%d of %d connections are still open", left, begun.Load())
	})
}

// neverEndREST does so over REST.
func neverEndREST(ctx context.Context, a *attacker) error {
	var all []string
	for put, other := range map[string]string{
		"PUT /v1/kv/hostile": "GET /healthz", "POST /v1/txn": "GET /v1/kv/a", "POST /v1/sessions": "GET /v1/members", "PUT /v1/elections/a": "GET /metrics",
		"POST /v1/locks/a": "DELETE /v1/kv/hostile/none", "POST /v1/watch": "GET /v1/admin/backup",
	} {
		all = append(all, neverEndingRequests(a.Members[0].HTTP, put, other)...)
	}
	return a.neverEnd(ctx, a.Members[0].HTTP, all, func(code int, body []byte) { a.statusCode("what never ends", code, body) })
}

// restWaits is how many requests of REST wait at a time.
func restWaits(long bool) int {
	if long {
		return 4000
	}
	return 300
}

// openREST opens a session over REST, and returns its id.
func (a *attacker) openREST(client *http.Client) (string, error) {
	answer, err := client.Post("http://"+a.Members[0].HTTP+"/v1/sessions", "application/json", strings.NewReader(`{"name":"hostile"}`))
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	var opened struct{ SessionID string }
	if err = json.NewDecoder(answer.Body).Decode(&opened); err != nil || opened.SessionID == "" {
		return "", fmt.Errorf("open a session: %d %w", answer.StatusCode, err)
	}
	return opened.SessionID, nil
}

// waitREST has requests of every kind wait that can, and hangs up, several times over, and leaves some that wait.
func waitREST(ctx context.Context, a *attacker) error {
	const rounds = 3
	return a.waitREST(ctx, rounds, func(round int, conn net.Conn) {
		if round == rounds-1 {
			a.keep(conn)
			return
		}
		_ = conn.Close() // As a client does that has had enough.
	})
}

// waitAndReadREST has as many waits in the end, by clients that read what they are told.
func waitAndReadREST(ctx context.Context, a *attacker) error {
	return a.waitREST(ctx, 1, func(_ int, conn net.Conn) {
		a.keep(conn)
		go func() { _, _ = io.Copy(io.Discard, conn) }() // It ends with the connection.
	})
}

// waitREST makes many requests that wait, so many times over, and leaves to do what becomes of each one.
func (a *attacker) waitREST(ctx context.Context, rounds int, do func(round int, conn net.Conn)) error {
	client := a.web()
	defer client.CloseIdleConnections()
	holder, err := a.openREST(client)
	if err != nil {
		return err
	}
	waiter, err := a.openREST(client)
	if err != nil {
		return err
	}
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", path, a.Members[0].HTTP, len(body), body)
	}
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: " + a.Members[0].HTTP + "\r\n\r\n"
	}
	held, err := a.raw(ctx, a.Members[0].HTTP, post("/v1/locks/hostile/lock", `{"sessionId":"`+holder+`"}`))
	if err != nil {
		return err
	}
	a.statusOf("the lock that all wait for", held)
	for round := range rounds {
		for i := range restWaits(a.Long) {
			who := fmt.Sprintf(`{"sessionId":"%s","options":{"owner":"%d/%d"}`, waiter, round, i)
			request := []string{
				get("/v1/watch?prefixes=none/"), get("/v1/watch?prefixes="), get("/v1/election-events/hostile/election"),
				post("/v1/locks/hostile/lock", who+`,"wait":"60s"}`), post("/v1/lock-queue/hostile/lock", who+`}`), post("/v1/elections/hostile/election", who+`}`),
				post("/v1/watch", `{"allSessions":true}`),
			}[i%7]
			conn, err := a.raw(ctx, a.Members[0].HTTP, request)
			if err != nil {
				continue // There is no room for another one.
			}
			do(round, conn)
		}
	}
	return nil
}

// unreadREST asks for all that is large, over and over, and reads nothing.
func unreadREST(ctx context.Context, a *attacker) error {
	reads := []string{
		"/v1/kv?prefix=much/", "/v1/kv/much/0", "/v1/watch?prefixes=much/&initial=true", "/v1/admin/backup", "/openapi.json", "/metrics", "/v1/sessions", "/v1/status",
	}
	for i := range unreadConsulAnswers(a.Long) {
		request := "GET " + reads[i%len(reads)] + " HTTP/1.1\r\nHost: " + a.Members[0].HTTP + "\r\n\r\n"
		conn, err := a.raw(ctx, a.Members[0].HTTP, strings.Repeat(request, 3))
		if err != nil {
			continue // There is no room for another one.
		}
		a.keep(conn)
	}
	return nil
}
