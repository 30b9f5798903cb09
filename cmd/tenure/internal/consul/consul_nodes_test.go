package consul

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-io/tenure/consulhttp/wire"
)

// Consul takes 200 connections of a client, and answers 429 on the next. What it says of a node may be longer than one part of an answer.
func TestAnImportOfManyNodesAsksOverOneConnection(t *testing.T) {
	var nodes []*wire.Node
	for i := range 20 {
		nodes = append(nodes, &wire.Node{Node: fmt.Sprintf("db-%d", i), Address: "10.0.0.1"})
	}
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = []*wire.Check{}
		switch name, one := strings.CutPrefix(r.URL.Path, "/v1/catalog/node/"); {
		case one:
			services := map[string]*wire.Service{}
			for i := range 50 {
				id := fmt.Sprintf("%s-%d", name, i)
				services[id] = &wire.Service{ID: id, Service: "db"}
			}
			answer = map[string]any{"Services": services}
		case r.URL.Path == "/v1/catalog/nodes":
			answer = nodes
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	got, err := externalNodes(t.Context(), consulEnvironment(time.Minute), server.URL)
	if err != nil || len(got) != len(nodes) || len(got[0].GetServices()) != 50 {
		t.Fatalf("got %d nodes, %v; want %d with 50 services each", len(got), err, len(nodes))
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("got %d connections, want one", n)
	}
}
