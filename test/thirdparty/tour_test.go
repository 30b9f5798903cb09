package thirdparty_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// places are where calls are made, and how many members there are: at an agent, it is the agent's address that clients use.
var places = map[string]int{"1 member": 1, "3 members": 3, atAgent: 3}

const atAgent = "an agent"

// tour is Consul's own library at one address, in one scenario of many.
type tour struct {
	*testing.T
	client *api.Client
	prefix string
}

// TestConsulsLibraryMakesEachCall makes the calls of Consul's own library at a member, at one of three, and at an agent.
func TestConsulsLibraryMakesEachCall(t *testing.T) {
	t.Parallel()
	for place, members := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			record(t, library, "keys, CAS, transactions, sessions, locks lost by destroy, expiry and check, services and their health, "+place, "passed")
			c := start(t.Context(), t, members, "--consul-session-ttl-min", "1s")
			address := c.address(0)
			if place == atAgent {
				address = c.startAgent(t.Context(), t, "--consul-session-ttl-min", "1s")
			}
			client, err := api.NewClient(&api.Config{Address: address})
			if err != nil {
				t.Fatal(err)
			}
			for name, scenario := range map[string]func(tour){
				"keys": tour.keys, "transactions": tour.transactions, "contenders": tour.contenders, "destroy": tour.lossByDestroy,
				"expiry": tour.lossByExpiry, "check": tour.lossByCheck, "delete": tour.deleteOfHeldKey, "catalog": tour.catalog,
			} {
				t.Run(name, func(t *testing.T) { scenario(tour{t, client, "tour/" + name + "/"}) })
			}
			if place == atAgent {
				t.Run("agent", func(t *testing.T) { tour{t, client, "tour/agent/"}.agent() })
			}
		})
	}
}

// ok fails the test at an error.
func (u tour) ok(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

// is fails the test if something is not so.
func (u tour) is(so bool, what string, args ...any) {
	u.Helper()
	if !so {
		u.Fatalf(what, args...)
	}
}

// session makes a session that is destroyed at the end.
func (u tour) session(entry api.SessionEntry) string {
	u.Helper()
	id, _, err := u.client.Session().CreateNoChecks(&entry, nil)
	u.ok(err)
	u.Cleanup(func() { _, _ = u.client.Session().Destroy(id, nil) })
	return id
}

// acquire tries to acquire a key.
func (u tour) acquire(key, session string) bool {
	u.Helper()
	held, _, err := u.client.KV().Acquire(&api.KVPair{Key: u.prefix + key, Session: session}, nil)
	u.ok(err)
	return held
}

// awaitFree waits with blocking reads until no session holds a key, and returns how it is then.
func (u tour) awaitFree(key string) *api.KVPair {
	u.Helper()
	ctx, cancel := context.WithTimeout(u.Context(), patience)
	defer cancel()
	var index uint64
	for {
		pair, meta, err := u.client.KV().Get(u.prefix+key, (&api.QueryOptions{WaitIndex: index, WaitTime: time.Minute}).WithContext(ctx))
		u.ok(err)
		if pair == nil || pair.Session == "" {
			return pair
		}
		index = meta.LastIndex
	}
}

func (u tour) keys() {
	kv := u.client.KV()
	pair := &api.KVPair{Key: u.prefix + "a", Value: []byte("one"), Flags: 7}
	_, err := kv.Put(pair, nil)
	u.ok(err)
	found, meta, err := kv.Get(pair.Key, nil)
	u.ok(err)
	u.is(string(found.Value) == "one" && found.Flags == 7 && meta.LastIndex == found.ModifyIndex && meta.KnownLeader, "got %+v, %+v", found, meta)
	for _, want := range []bool{true, false} {
		done, _, casErr := kv.CAS(&api.KVPair{Key: pair.Key, Value: []byte("two"), ModifyIndex: found.ModifyIndex}, nil)
		u.ok(casErr)
		u.is(done == want, "CAS: got %t, want %t", done, want)
	}
	_, err = kv.Put(&api.KVPair{Key: u.prefix + "b/c"}, nil)
	u.ok(err)
	names, _, err := kv.Keys(u.prefix, "/", nil)
	u.ok(err)
	u.is(strings.Join(names, " ") == u.prefix+"a "+u.prefix+"b/", "keys: got %v", names)
	list, _, err := kv.List(u.prefix, nil)
	u.ok(err)
	u.is(len(list) == 2, "list: got %v", list)
	_, err = kv.DeleteTree(u.prefix, nil)
	u.ok(err)
	found, _, err = kv.Get(pair.Key, nil)
	u.ok(err)
	u.is(found == nil, "a deleted key: got %+v", found)
}

func (u tour) transactions() {
	kv := u.client.KV()
	set := &api.KVTxnOp{Verb: api.KVSet, Key: u.prefix + "a", Value: []byte("one")}
	done, answer, _, err := kv.Txn(api.KVTxnOps{set, {Verb: api.KVGet, Key: set.Key}}, nil)
	u.ok(err)
	u.is(done && len(answer.Results) == 2 && string(answer.Results[1].Value) == "one", "got %t, %+v", done, answer)
	done, answer, _, err = kv.Txn(api.KVTxnOps{{Verb: api.KVSet, Key: u.prefix + "b"}, {Verb: api.KVCAS, Key: set.Key, Index: answer.Results[0].ModifyIndex + 1}}, nil)
	u.ok(err)
	u.is(!done && len(answer.Errors) == 1 && answer.Errors[0].OpIndex == 1, "a wrong index: got %t, %+v", done, answer)
	found, _, err := kv.Get(u.prefix+"b", nil)
	u.ok(err)
	u.is(found == nil, "a transaction that failed wrote %+v", found)
}

func (u tour) contenders() {
	one, other := u.session(api.SessionEntry{TTL: "10s"}), u.session(api.SessionEntry{TTL: "10s"})
	u.is(u.acquire("lock", one) && !u.acquire("lock", other), "two contenders: the first one did not get the lock alone")
	u.is(u.acquire("lock", one), "who holds the lock did not get it again")
	pair := &api.KVPair{Key: u.prefix + "lock", Session: other}
	released, _, err := u.client.KV().Release(pair, nil)
	u.ok(err)
	u.is(!released, "another one released the lock")
	pair.Session = one
	released, _, err = u.client.KV().Release(pair, nil)
	u.ok(err)
	u.is(released && u.acquire("lock", other), "a released lock was not to be had")
}

func (u tour) lossByDestroy() {
	one, other := u.session(api.SessionEntry{LockDelay: time.Millisecond}), u.session(api.SessionEntry{})
	u.is(u.acquire("lock", one), "no lock")
	_, err := u.client.Session().Destroy(one, nil)
	u.ok(err)
	u.is(u.awaitFree("lock") != nil, "the key went with its session, whose behavior is release")
	u.awaitAcquired("lock", other)
}

func (u tour) lossByExpiry() {
	one := u.session(api.SessionEntry{TTL: "1s", Behavior: api.SessionBehaviorDelete})
	u.is(u.acquire("lock", one), "no lock")
	renewed, _, err := u.client.Session().Renew(one, nil)
	u.ok(err)
	u.is(renewed != nil && renewed.TTL == "1s", "renew: got %+v", renewed)
	u.is(u.awaitFree("lock") == nil, "the key did not go with its session, whose behavior is delete")
	info, _, err := u.client.Session().Info(one, nil)
	u.ok(err)
	u.is(info == nil, "an expired session: got %+v", info)
	renewed, _, err = u.client.Session().Renew(one, nil)
	u.is(renewed == nil && err == nil, "to renew an expired session: got %+v, %v", renewed, err)
}

func (u tour) lossByCheck() {
	node := "tour-checked"
	register := func(status string) {
		u.Helper()
		_, err := u.client.Catalog().Register(&api.CatalogRegistration{
			Node: node, Address: "127.0.0.1", Check: &api.AgentCheck{Node: node, CheckID: "disk", Name: "disk", Status: status},
		}, nil)
		u.ok(err)
	}
	register(api.HealthPassing)
	id, _, err := u.client.Session().Create(&api.SessionEntry{Node: node, NodeChecks: []string{"disk"}, LockDelay: time.Millisecond}, nil)
	u.ok(err)
	u.is(u.acquire("lock", id), "no lock")
	register(api.HealthCritical)
	u.is(u.awaitFree("lock") != nil, "the key went with its session, whose behavior is release")
	_, _, err = u.client.Session().Create(&api.SessionEntry{Node: node, NodeChecks: []string{"disk"}}, nil)
	u.is(err != nil && strings.Contains(err.Error(), "is in critical state"), "a session with a critical check: got %v", err)
	_, err = u.client.Catalog().Deregister(&api.CatalogDeregistration{Node: node}, nil)
	u.ok(err)
}

func (u tour) deleteOfHeldKey() {
	one, other := u.session(api.SessionEntry{}), u.session(api.SessionEntry{})
	u.is(u.acquire("lock", one), "no lock")
	_, err := u.client.KV().Delete(u.prefix+"lock", nil)
	u.ok(err)
	u.is(u.acquire("lock", other), "a lock whose key was deleted was not to be had")
}

func (u tour) catalog() {
	node := "tour-node"
	_, err := u.client.Catalog().Register(&api.CatalogRegistration{
		Node: node, Address: "127.0.0.1", Service: &api.AgentService{ID: "web-1", Service: "tour-web", Port: 80, Tags: []string{"v1"}},
		Check: &api.AgentCheck{Node: node, CheckID: "web", Name: "web", Status: api.HealthPassing, ServiceID: "web-1"},
	}, nil)
	u.ok(err)
	passing, meta, err := u.client.Health().Service("tour-web", "v1", true, nil)
	u.ok(err)
	u.is(len(passing) == 1 && passing[0].Node.Node == node && passing[0].Service.Port == 80, "got %+v", passing)
	changed := make(chan error, 1)
	go func() {
		_, gone := u.client.Catalog().Deregister(&api.CatalogDeregistration{Node: node, ServiceID: "web-1"}, nil)
		changed <- gone
	}()
	for len(passing) > 0 {
		passing, meta, err = u.client.Health().Service("tour-web", "v1", true, &api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: time.Minute})
		u.ok(err)
	}
	u.ok(<-changed)
	_, err = u.client.Catalog().Deregister(&api.CatalogDeregistration{Node: node}, nil)
	u.ok(err)
}

// agent registers a service at an agent, whose check decides about a session.
func (u tour) agent() {
	agent := u.client.Agent()
	u.ok(agent.ServiceRegister(&api.AgentServiceRegistration{
		ID: "api-1", Name: "tour-api", Port: 81, Check: &api.AgentServiceCheck{CheckID: "api", TTL: "60s", Status: api.HealthPassing},
	}))
	passing, _, err := u.client.Health().Service("tour-api", "", true, nil)
	u.ok(err)
	u.is(len(passing) == 1 && passing[0].Service.ID == "api-1", "got %+v", passing)
	id, _, err := u.client.Session().Create(&api.SessionEntry{ServiceChecks: []api.ServiceCheck{{ID: "api"}}, LockDelay: time.Millisecond}, nil)
	u.ok(err)
	u.is(u.acquire("lock", id), "no lock")
	u.ok(agent.UpdateTTL("api", "broken", api.HealthCritical))
	u.is(u.awaitFree("lock") != nil, "the key went with its session, whose behavior is release")
	passing, _, err = u.client.Health().Service("tour-api", "", true, nil)
	u.ok(err)
	u.is(len(passing) == 0, "a critical service: got %+v", passing)
	u.ok(agent.ServiceDeregister("api-1"))
	services, err := agent.Services()
	u.ok(err)
	u.is(services["api-1"] == nil, "got %+v", services)
}

// awaitAcquired acquires a key, which may be delayed.
func (u tour) awaitAcquired(key, session string) {
	u.Helper()
	for end := time.Now().Add(patience); !u.acquire(key, session); sleep(u.Context(), 20*time.Millisecond) {
		u.is(time.Now().Before(end), "%s was not to be had within %v", key, patience)
	}
}
