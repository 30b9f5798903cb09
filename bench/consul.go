package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// httpWorkload is a workload over HTTP, on one of two ports of a member.
type httpWorkload struct {
	name string
	port httpPort
	step func(*httpClients) httpStep
}

// httpStep makes one operation of the client with a number.
type httpStep func(ctx context.Context, client int) error

// httpPort is a port for HTTP, and how it is asked for what both do.
type httpPort struct {
	name    string
	address func(addresses) string
	create  func(ctx context.Context, c *httpClients) (session string, err error)
	renew   func(session string) (method, path string)
}

// portREST is Tenure's own.
var portREST = httpPort{
	name:    "rest",
	address: func(a addresses) string { return a.HTTP },
	create: func(ctx context.Context, c *httpClients) (string, error) {
		var made struct {
			SessionID string `json:"sessionId"`
		}
		err := c.do(ctx, http.MethodPost, "sessions", []byte(`{"ttl":"86400s"}`), &made)
		return made.SessionID, err
	},
	renew: func(session string) (method, path string) { return http.MethodPost, "sessions/" + session + "/renew" },
}

// portConsul is that of Consul's clients.
var portConsul = httpPort{
	name:    "consul",
	address: func(a addresses) string { return a.Consul },
	create: func(ctx context.Context, c *httpClients) (string, error) {
		var made struct{ ID string }
		err := c.do(ctx, http.MethodPut, "session/create", []byte(`{"TTL":"24h","NodeChecks":[]}`), &made)
		return made.ID, err
	},
	renew: func(session string) (method, path string) { return http.MethodPut, "session/renew/" + session },
}

// httpWorkloads are what both ports are measured with, one beside the other.
func httpWorkloads() []httpWorkload {
	var all []httpWorkload
	for _, do := range []struct {
		name string
		step func(*httpClients) httpStep
	}{
		{"get", func(c *httpClients) httpStep { return c.get }},
		{"put", func(c *httpClients) httpStep { return c.put }},
		{"renew", func(c *httpClients) httpStep { return c.renew }},
		{"lock", func(c *httpClients) httpStep { return c.lock }},
	} {
		for _, port := range []httpPort{portREST, portConsul} {
			all = append(all, httpWorkload{port.name + "-" + do.name, port, do.step})
		}
	}
	return all
}

// consulWorkloads are their names.
func consulWorkloads() []string {
	var names []string
	for _, w := range httpWorkloads() {
		names = append(names, w.name)
	}
	return names
}

// newConsulCell returns the cell of a workload over HTTP, if that is one.
func newConsulCell(ctx context.Context, member *server, key cellKey, o options) (_ *cell, found bool, err error) {
	all := httpWorkloads()
	i := slices.IndexFunc(all, func(w httpWorkload) bool { return w.name == key.workload })
	if i < 0 {
		return nil, false, nil
	}
	w := all[i]
	c := &httpClients{
		port: w.port, base: "http://" + w.port.address(member.addresses) + "/v1/", value: bytes.Repeat([]byte("v"), o.valueBytes),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: key.clients, MaxIdleConns: key.clients}},
	}
	for client := range key.clients {
		session, createErr := w.port.create(ctx, c)
		if createErr == nil {
			c.sessions = append(c.sessions, session)
			createErr = c.put(ctx, client)
		}
		if createErr != nil {
			return nil, true, errors.Join(createErr, c.close())
		}
	}
	step := w.step(c)
	return &cell{
		drivers: key.clients,
		step: func(ctx context.Context, client int, r *recorder) error {
			return r.time(func() error { return step(ctx, client) })
		},
		close: c.close,
	}, true, nil
}

// httpClients are clients of a port, each with a connection, a session and a key.
type httpClients struct {
	port     httpPort
	base     string
	client   *http.Client
	value    []byte
	sessions []string
}

// do makes a request, and reads its answer into out unless that is nil.
func (c *httpClients) do(ctx context.Context, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

func (c *httpClients) key(client int) string {
	return fmt.Sprintf("kv/bench/http/%s/%d", c.port.name, client)
}

// get reads a key, linearizably.
func (c *httpClients) get(ctx context.Context, client int) error {
	return c.do(ctx, http.MethodGet, c.key(client)+"?raw", nil, nil)
}

// put writes a key.
func (c *httpClients) put(ctx context.Context, client int) error {
	return c.do(ctx, http.MethodPut, c.key(client), c.value, nil)
}

// renew renews a session.
func (c *httpClients) renew(ctx context.Context, client int) error {
	method, path := c.port.renew(c.sessions[client])
	return c.do(ctx, method, path, nil, nil)
}

// lock acquires a lock that nobody else wants, and releases it.
func (c *httpClients) lock(ctx context.Context, client int) error {
	for _, do := range []string{"acquire", "release"} {
		var got json.RawMessage
		if err := c.do(ctx, http.MethodPut, c.key(client)+"?"+do+"="+c.sessions[client], c.value, &got); err != nil {
			return err
		}
		if strings.TrimSpace(string(got)) == "false" {
			return fmt.Errorf("%s was refused", do)
		}
	}
	return nil
}

// close ends the connections. The sessions stay: a cell in another round has its own.
func (c *httpClients) close() error {
	c.client.CloseIdleConnections()
	return nil
}
