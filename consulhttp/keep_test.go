package consulhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

const (
	idC     = "aaaaaaaa-2222-3333-4444-bbbbbbbbbbbb"
	zoneD   = "z1"
	gossipD = "10.0.0.1:7404"
)

// natively registers a node with what Consul does not know, and returns the revision.
func (r *rig) natively(name, zone string) uint64 {
	r.t.Helper()
	node := &tenurev1.Node{Name: name, NodeId: idC, Address: "10.0.0.1", Zone: zone, GossipAddress: gossipD}
	done, err := tenurev1.NewCatalogServiceClient(r.grpc).RegisterNode(r.t.Context(), &tenurev1.RegisterNodeRequest{Node: node})
	if err != nil {
		r.t.Fatal(err)
	}
	return done.GetHeader().GetRevision()
}

// ours returns the address of a node, and what Consul does not know of it.
func (r *rig) ours(name string) (address, zone, gossip string) {
	r.t.Helper()
	found, err := tenurev1.NewCatalogServiceClient(r.grpc).GetNode(r.t.Context(), &tenurev1.GetNodeRequest{Node: name})
	if err != nil {
		r.t.Fatal(err)
	}
	n := found.GetNode()
	return n.GetAddress(), n.GetZone(), n.GetGossipAddress()
}

// writesOfNodes are the ways to write a node over Consul's HTTP: path, and body with the JSON of the node and its index.
var writesOfNodes = map[string]struct{ path, body string }{
	"register": {"/v1/catalog/register", `{%[1]s}`},
	"set":      {"/v1/txn", `[{"Node":{"Verb":"set","Node":{%[1]s}}}]`},
	"cas":      {"/v1/txn", `[{"Node":{"Verb":"cas","Node":{%[1]s,"ModifyIndex":%[2]d}}}]`},
	"set beside others": {"/v1/txn", `[{"KV":{"Verb":"set","Key":"k"}},{"Node":{"Verb":"get","Node":{"Node":"D"}}},{"Node":{"Verb":"set","Node":{%[1]s}}},` +
		`{"Node":{"Verb":"set","Node":{"Node":"new","Address":"n"}}}]`},
}

// TestWritesOfANodeKeepWhatConsulDoesNotKnow writes a machine that takes part in gossip, with and without its id.
func TestWritesOfANodeKeepWhatConsulDoesNotKnow(t *testing.T) {
	for name, w := range writesOfNodes {
		for _, id := range []string{"", `"ID":"` + idC + `",`, `"ID":"` + strings.ToUpper(idC) + `",`} {
			t.Run(name+" "+id, func(t *testing.T) {
				r := newRig(t)
				revision := r.natively("d", zoneD)
				if got := r.send("PUT", w.path, fmt.Sprintf(w.body, id+`"Node":"D","Address":"10.0.0.9"`, revision)); got.status != 200 {
					t.Fatalf("got %d %s", got.status, got.body)
				}
				if address, zone, gossip := r.ours("d"); address != "10.0.0.9" || zone != zoneD || gossip != gossipD {
					t.Errorf("the node has address %q, zone %q and gossip address %q, want the new address and the rest as it was", address, zone, gossip)
				}
			})
		}
	}
}

// TestAnotherMachineGetsNothingOfTheOneThatItReplaces registers a machine under the name of one of which nobody knows how it is. It does not take part in
// gossip, so a session on it waits for no liveness.
func TestAnotherMachineGetsNothingOfTheOneThatItReplaces(t *testing.T) {
	for name, w := range writesOfNodes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			revision := r.natively("d", zoneD)
			if got := r.send("PUT", w.path, fmt.Sprintf(w.body, `"ID":"`+idB+`","Node":"d","Address":"10.0.0.9"`, revision)); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if address, zone, gossip := r.ours("d"); address != "10.0.0.9" || zone != "" || gossip != "" {
				t.Errorf("the node has address %q, zone %q and gossip address %q, want only the address", address, zone, gossip)
			}
			r.session(`{"Node":"d"}`)
		})
	}
}

// meanwhile is a connection on which something happens after the first call that reads a node in a transaction.
type meanwhile struct {
	grpc.ClientConnInterface
	do   func()
	done atomic.Bool
}

// Invoke calls, and then does it.
func (m *meanwhile) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	err := m.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	txn, ok := request.(*tenurev1.TxnRequest)
	if ok && m.do != nil && txn.GetThen()[0].GetCatalog().GetGet() != nil && m.done.CompareAndSwap(false, true) {
		m.do()
	}
	return err
}

// TestATransactionDoesNotWriteBackAZone sets a node while its zone changes between the read and the write, and one that goes and comes back.
func TestATransactionDoesNotWriteBackAZone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(r *rig)
		zone   string
	}{
		"another zone": {func(r *rig) { r.natively("d", "z2") }, "z2"},
		"no node":      {func(r *rig) { r.want("PUT", "/v1/catalog/deregister", `{"Node":"d"}`, 200, "true") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			member := &meanwhile{}
			r := newRig(t, func(o *consulhttp.Options) {
				member.ClientConnInterface = o.Conn
				o.Conn = member
			})
			r.natively("d", zoneD)
			member.do = func() { test.change(r) }
			set := fmt.Sprintf(writesOfNodes["set"].body, `"Node":"d","Address":"10.0.0.9"`)
			if got := r.send("PUT", "/v1/txn", set); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if address, zone, _ := r.ours("d"); address != "10.0.0.9" || zone != test.zone || !member.done.Load() {
				t.Errorf("the node has address %q and zone %q, want the new address and zone %q", address, zone, test.zone)
			}
		})
	}
}

// TestARegistrationTakesTheRightToItsNode registers a node with a token that may write it, and nothing else.
func TestARegistrationTakesTheRightToItsNode(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.natively("d", zoneD)
	token := r.bootstrap("node \"d\" write\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for _, body := range []string{`{"Node":"d","Address":"10.0.0.9"}`, `{"Node":"d","SkipNodeUpdate":true,"Check":{"CheckID":"disk","Status":"passing"}}`} {
		if got := r.sendAs("PUT", "/v1/catalog/register", body, show); got.status != 200 || got.body != "true" {
			t.Errorf("%s: got %d %s, want 200 true", body, got.status, got.body)
		}
	}
}
