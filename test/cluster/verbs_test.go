package cluster_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// client is one member's services, and what a run of all verbs remembers.
type client struct {
	tenurev1.SessionServiceClient
	tenurev1.KVServiceClient
	tenurev1.LockServiceClient
	tenurev1.ElectionServiceClient
	tenurev1.WatchServiceClient
	tenurev1.ClusterServiceClient
	tenurev1.CatalogServiceClient
	tenurev1.QueryServiceClient

	prefix   string
	sessions map[string]string // id by name
	hold     *tenurev1.Sequencer
	nodeID   string // of the run's node
}

// dial returns a client of a member, until the test ends.
func dial(t *testing.T, m *rig.Member, prefix string) *client {
	t.Helper()
	conn := m.Dial()
	t.Cleanup(func() { _ = conn.Close() })
	return &client{
		SessionServiceClient:  tenurev1.NewSessionServiceClient(conn),
		KVServiceClient:       tenurev1.NewKVServiceClient(conn),
		LockServiceClient:     tenurev1.NewLockServiceClient(conn),
		ElectionServiceClient: tenurev1.NewElectionServiceClient(conn),
		WatchServiceClient:    tenurev1.NewWatchServiceClient(conn),
		ClusterServiceClient:  tenurev1.NewClusterServiceClient(conn),
		CatalogServiceClient:  tenurev1.NewCatalogServiceClient(conn),
		QueryServiceClient:    tenurev1.NewQueryServiceClient(conn),
		prefix:                prefix,
		sessions:              map[string]string{},
		nodeID:                uuid.NewString(),
	}
}

func (c *client) key(name string) string { return c.prefix + name }

// secret is that of all sessions that have one.
var secret = []byte("0123456789abcdef0123456789abcdef")

// acting are the options of who acts as a session with the secret.
func acting() *tenurev1.CallOptions { return &tenurev1.CallOptions{SessionSecret: secret, Epoch: 1} }

// open creates a session with the secret.
func (c *client) open(ctx context.Context, name string) (proto.Message, error) {
	r, err := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{
		Name: c.key(name), Ttl: durationpb.New(3600e9), Secret: secret, LockDelay: durationpb.New(60e9),
	})
	if err == nil {
		c.sessions[name] = r.GetSessionId()
	}
	return r, err
}

// messages receives some messages of a stream, and ends it.
func messages[T any](n int, start func(ctx context.Context) (grpc.ServerStreamingClient[T], error)) func(context.Context) ([]*T, error) {
	return func(ctx context.Context) ([]*T, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := start(ctx)
		var got []*T
		for err == nil && len(got) < n {
			var m *T
			if m, err = stream.Recv(); err == nil {
				got = append(got, m)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return got, err
	}
}

// verb is a call that every member serves.
type verb struct {
	name string
	call func(ctx context.Context, c *client) (any, error)
}

func sessionVerbs() []verb {
	return []verb{
		{"CreateSession", func(ctx context.Context, c *client) (any, error) { return c.open(ctx, "holder") }},
		{"CreateSession, another", func(ctx context.Context, c *client) (any, error) { return c.open(ctx, "waiter") }},
		{"CreateSession with a bad TTL", func(ctx context.Context, c *client) (any, error) {
			return c.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(-1)})
		}},
		{"RenewSession", func(ctx context.Context, c *client) (any, error) {
			return c.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: c.sessions["holder"], Options: acting()})
		}},
		{"RenewSession with a wrong secret", func(ctx context.Context, c *client) (any, error) {
			o := acting()
			o.SessionSecret = slices.Concat([]byte("x"), secret[1:])
			return c.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: c.sessions["holder"], Options: o})
		}},
		{"RenewSession of none", func(ctx context.Context, c *client) (any, error) {
			return c.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: "00000000-0000-4000-8000-000000000000", Options: acting()})
		}},
		{"KeepAlive", keepAliveVerb},
		{"AttachSession", func(ctx context.Context, c *client) (any, error) {
			return c.AttachSession(ctx, &tenurev1.AttachSessionRequest{SessionId: c.sessions["holder"], Options: acting()})
		}},
		{"GetSession", func(ctx context.Context, c *client) (any, error) {
			return c.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: c.sessions["holder"]})
		}},
		{"ListSessions", func(ctx context.Context, c *client) (any, error) {
			return c.ListSessions(ctx, &tenurev1.ListSessionsRequest{NamePrefix: c.prefix + "hold"})
		}},
	}
}

// keepAliveVerb sends renewals of each kind, and returns the verdicts in their order.
func keepAliveVerb(ctx context.Context, c *client) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.KeepAlive(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{
		{Number: 1, SessionId: c.sessions["holder"], Epoch: 1, Secret: secret},
		{Number: 2, SessionId: c.sessions["waiter"], Epoch: 1},
		{Number: 3, SessionId: "00000000-0000-4000-8000-000000000000"},
		{Number: 4, SessionId: "no id"},
		{Number: 5, SessionId: c.sessions["waiter"], Epoch: 1, Secret: secret},
	}})
	var verdicts []*tenurev1.RenewalVerdict
	for err == nil && len(verdicts) < 5 {
		var r *tenurev1.KeepAliveResponse
		r, err = stream.Recv()
		verdicts = append(verdicts, r.GetVerdicts()...)
	}
	slices.SortFunc(verdicts, func(x, y *tenurev1.RenewalVerdict) int { return int(x.GetNumber()) - int(y.GetNumber()) })
	return &tenurev1.KeepAliveResponse{Verdicts: verdicts}, err
}

func keyVerbs() []verb {
	return []verb{
		{"Put", func(ctx context.Context, c *client) (any, error) {
			return c.Put(ctx, &tenurev1.PutRequest{Key: c.key("k"), Content: &tenurev1.PutRequest_Text{Text: "v"}, Flags: 7})
		}},
		{"Put of an ephemeral key", func(ctx context.Context, c *client) (any, error) {
			return c.Put(ctx, &tenurev1.PutRequest{Key: c.key("mine"), BindSession: c.sessions["holder"], Options: acting()})
		}},
		{"Put that acquires", func(ctx context.Context, c *client) (any, error) {
			return c.Put(ctx, &tenurev1.PutRequest{Key: c.key("held"), Acquire: c.sessions["holder"], Options: acting()})
		}},
		{"Put if it does not exist, and it does", func(ctx context.Context, c *client) (any, error) {
			return c.Put(ctx, &tenurev1.PutRequest{Key: c.key("k"), IfRevision: new(uint64(0))})
		}},
		{"Get", func(ctx context.Context, c *client) (any, error) {
			return c.Get(ctx, &tenurev1.GetRequest{Key: c.key("k")})
		}},
		{"Get of a missing key", func(ctx context.Context, c *client) (any, error) {
			return c.Get(ctx, &tenurev1.GetRequest{Key: c.key("nothing")})
		}},
		{"Get of the future", func(ctx context.Context, c *client) (any, error) {
			return c.Get(ctx, &tenurev1.GetRequest{Key: c.key("k"), Read: &tenurev1.ReadOptions{MinRevision: 1 << 50}})
		}},
		{"List", func(ctx context.Context, c *client) (any, error) {
			return c.List(ctx, &tenurev1.ListRequest{Prefix: c.prefix})
		}},
		{"Txn", func(ctx context.Context, c *client) (any, error) {
			return c.Txn(ctx, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
				{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: c.key("t"), Content: &tenurev1.PutRequest_Text{Text: "1"}}}},
				{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: c.key("t")}}},
			}})
		}},
		{"Txn with a guard that fails", func(ctx context.Context, c *client) (any, error) {
			return c.Txn(ctx, &tenurev1.TxnRequest{
				Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: c.key("t")}}}},
				Options: &tenurev1.CallOptions{Guards: []*tenurev1.Guard{{Condition: &tenurev1.Guard_Key{
					Key: &tenurev1.KeyCondition{Key: c.key("t"), Exists: new(false)},
				}}}},
			})
		}},
		{"Delete", func(ctx context.Context, c *client) (any, error) {
			return c.Delete(ctx, &tenurev1.DeleteRequest{Key: c.key("t")})
		}},
		{"DeletePrefix", func(ctx context.Context, c *client) (any, error) {
			return c.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: c.key("k")})
		}},
		{"Watch with the present state", func(ctx context.Context, c *client) (any, error) {
			return messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.WatchResponse], error) {
				return c.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{c.prefix}, Initial: true})
			})(ctx)
		}},
	}
}

func lockVerbs() []verb {
	acquire := func(c *client, session string, wait *durationpb.Duration) *tenurev1.AcquireLockRequest {
		return &tenurev1.AcquireLockRequest{Key: c.key("lock"), SessionId: c.sessions[session], Wait: wait, Options: acting()}
	}
	return []verb{
		{"TryAcquireLock", func(ctx context.Context, c *client) (any, error) {
			r, err := c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
				Key: c.key("lock"), SessionId: c.sessions["holder"], Options: acting(),
			})
			c.hold = r.GetHold().GetSequencer()
			return r, err
		}},
		{"TryAcquireLock of a held lock", func(ctx context.Context, c *client) (any, error) {
			return c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
				Key: c.key("lock"), SessionId: c.sessions["waiter"], Options: acting(),
			})
		}},
		{"AcquireLock whose wait ends", func(ctx context.Context, c *client) (any, error) {
			return messages(2, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
				return c.AcquireLock(ctx, acquire(c, "waiter", durationpb.New(1e6)))
			})(ctx)
		}},
		{"AcquireLock that waits", func(ctx context.Context, c *client) (any, error) {
			return messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
				return c.AcquireLock(ctx, acquire(c, "waiter", nil))
			})(ctx)
		}},
		{"GetLock", func(ctx context.Context, c *client) (any, error) {
			return c.GetLock(ctx, &tenurev1.GetLockRequest{Key: c.key("lock")})
		}},
		{"ListLocks", func(ctx context.Context, c *client) (any, error) {
			return c.ListLocks(ctx, &tenurev1.ListLocksRequest{Prefix: c.prefix})
		}},
		{"CheckSequencer", func(ctx context.Context, c *client) (any, error) {
			return c.CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: c.hold}})
		}},
		{"CancelWait", func(ctx context.Context, c *client) (any, error) {
			return c.CancelWait(ctx, &tenurev1.CancelWaitRequest{Key: c.key("lock"), SessionId: c.sessions["waiter"], Options: acting()})
		}},
		{"ReleaseLock", func(ctx context.Context, c *client) (any, error) {
			return c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: c.key("lock"), SessionId: c.sessions["holder"], Options: acting()})
		}},
		{"BreakLock", func(ctx context.Context, c *client) (any, error) {
			return c.BreakLock(ctx, &tenurev1.BreakLockRequest{Key: c.key("held"), Reason: "for the test"})
		}},
		{"GetLock with a delay", func(ctx context.Context, c *client) (any, error) {
			return c.GetLock(ctx, &tenurev1.GetLockRequest{Key: c.key("held")})
		}},
		{"Campaign", func(ctx context.Context, c *client) (any, error) {
			return messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.CampaignResponse], error) {
				return c.Campaign(ctx, &tenurev1.CampaignRequest{
					Key: c.key("office"), SessionId: c.sessions["holder"], Options: acting(),
					Content: &tenurev1.CampaignRequest_Text{Text: "me"},
				})
			})(ctx)
		}},
		{"GetLeader", func(ctx context.Context, c *client) (any, error) {
			r, err := c.GetLeader(ctx, &tenurev1.GetLeaderRequest{Key: c.key("office")})
			c.hold = r.GetLeader().GetHold().GetSequencer()
			return r, err
		}},
		{"Proclaim", func(ctx context.Context, c *client) (any, error) {
			return c.Proclaim(ctx, &tenurev1.ProclaimRequest{
				Key: c.key("office"), Sequencer: c.hold, Options: acting(), Content: &tenurev1.ProclaimRequest_Text{Text: "still me"},
			})
		}},
		{"Observe", func(ctx context.Context, c *client) (any, error) {
			return messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.ObserveResponse], error) {
				return c.Observe(ctx, &tenurev1.ObserveRequest{Key: c.key("office")})
			})(ctx)
		}},
		{"Resign", func(ctx context.Context, c *client) (any, error) {
			return c.Resign(ctx, &tenurev1.ResignRequest{Key: c.key("office"), SessionId: c.sessions["holder"], Options: acting()})
		}},
		{"AttachSession that takes over", func(ctx context.Context, c *client) (any, error) {
			return c.AttachSession(ctx, &tenurev1.AttachSessionRequest{
				SessionId: c.sessions["waiter"], TakeOver: true, InstanceId: []byte("another"), Options: acting(),
			})
		}},
		{"ReleaseLock of who was superseded", func(ctx context.Context, c *client) (any, error) {
			return c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: c.key("lock"), SessionId: c.sessions["waiter"], Options: acting()})
		}},
		{"DestroySession", func(ctx context.Context, c *client) (any, error) {
			return c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: c.sessions["holder"], Options: acting()})
		}},
		{"GetSession that ended", func(ctx context.Context, c *client) (any, error) {
			return c.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: c.sessions["holder"]})
		}},
		{"GetLimits", func(ctx context.Context, c *client) (any, error) {
			return c.GetLimits(ctx, &tenurev1.GetLimitsRequest{})
		}},
		{"SetLimits", func(ctx context.Context, c *client) (any, error) {
			return c.SetLimits(ctx, &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{WaitersMax: new(uint32(1000))}})
		}},
		{"Compact of the future", func(ctx context.Context, c *client) (any, error) {
			return c.Compact(ctx, &tenurev1.CompactRequest{Revision: 1 << 50})
		}},
		{"PromoteMember of none", func(ctx context.Context, c *client) (any, error) {
			return c.PromoteMember(ctx, &tenurev1.PromoteMemberRequest{MemberId: 7})
		}},
		{"RemoveMember of none", func(ctx context.Context, c *client) (any, error) {
			return c.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: 7})
		}},
		{"AddMember with an address", func(ctx context.Context, c *client) (any, error) {
			return c.AddMember(ctx, &tenurev1.AddMemberRequest{Name: "x", PeerAddress: "127.0.0.1:1"})
		}},
	}
}

// node is the name of the run's node, which may have no slash.
func (c *client) node() string { return strings.TrimSuffix(c.prefix, "/") }

func queryVerbs() []verb {
	query := func(c *client, service string) *tenurev1.Query {
		return &tenurev1.Query{Name: c.key("query"), Service: service, SessionId: c.sessions["asker"]}
	}
	create := func(ctx context.Context, c *client) (any, error) {
		r, err := c.CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: query(c, "web")})
		if err == nil {
			c.sessions["query"] = r.GetQueryId()
		}
		return r, err
	}
	list := func(ctx context.Context, c *client) (any, error) {
		return c.ListQueries(ctx, &tenurev1.ListQueriesRequest{NamePrefix: c.key("query")})
	}
	return []verb{
		{"CreateSession for a query", func(ctx context.Context, c *client) (any, error) {
			r, err := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: c.key("asker"), Ttl: durationpb.New(3600e9)})
			c.sessions["asker"] = r.GetSessionId()
			return r, err
		}},
		{"CreateQuery", create},
		{"CreateQuery with a name that is taken", func(ctx context.Context, c *client) (any, error) {
			_, err := create(ctx, c)
			return nil, err
		}},
		{"UpdateQuery", func(ctx context.Context, c *client) (any, error) {
			return c.UpdateQuery(ctx, &tenurev1.UpdateQueryRequest{QueryId: c.sessions["query"], Query: query(c, "db")})
		}},
		{"GetQuery", func(ctx context.Context, c *client) (any, error) {
			return c.GetQuery(ctx, &tenurev1.GetQueryRequest{IdOrName: c.key("query")})
		}},
		{"ListQueries", list},
		{"ExecuteQuery", func(ctx context.Context, c *client) (any, error) {
			return c.ExecuteQuery(ctx, &tenurev1.ExecuteQueryRequest{IdOrName: c.sessions["query"]})
		}},
		{"ExplainQuery of none", func(ctx context.Context, c *client) (any, error) {
			return c.ExplainQuery(ctx, &tenurev1.ExplainQueryRequest{IdOrName: c.key("none")})
		}},
		{"DestroySession with a query", func(ctx context.Context, c *client) (any, error) {
			return c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: c.sessions["asker"]})
		}},
		{"ListQueries after their session", list},
		{"DeleteQuery of none", func(ctx context.Context, c *client) (any, error) {
			return c.DeleteQuery(ctx, &tenurev1.DeleteQueryRequest{QueryId: c.sessions["query"]})
		}},
	}
}

func catalogVerbs() []verb {
	check := func(id, service string) *tenurev1.Check {
		return &tenurev1.Check{CheckId: id, ServiceId: service, Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING}
	}
	sync := func(ctx context.Context, c *client) (any, error) {
		return c.SyncNode(ctx, &tenurev1.SyncNodeRequest{
			NodeId: c.nodeID, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 1},
			Node:   &tenurev1.Node{Name: c.node()},
			Checks: []*tenurev1.Check{check("agents", "")},
		})
	}
	return []verb{
		{"RegisterNode", func(ctx context.Context, c *client) (any, error) {
			return c.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
				Node:     &tenurev1.Node{Name: c.node(), NodeId: c.nodeID, Zone: "z"},
				Services: []*tenurev1.Service{{ServiceId: "web-1", Name: c.node() + "-web", Tags: []string{"blue"}}},
				Checks:   []*tenurev1.Check{check("disk", ""), check("up", "web-1")},
			})
		}},
		{"RegisterNode with a bad name", func(ctx context.Context, c *client) (any, error) {
			return c.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "no name"}})
		}},
		{"CreateSession bound to a check", func(ctx context.Context, c *client) (any, error) {
			r, err := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{
				Name: c.key("bound"), Node: c.node(), Ttl: durationpb.New(3600e9), Checks: &tenurev1.SessionChecks{ServiceChecks: []string{"up"}},
			})
			c.sessions["bound"] = r.GetSessionId()
			return r, err
		}},
		{"CreateSession bound to a missing check", func(ctx context.Context, c *client) (any, error) {
			return c.CreateSession(ctx, &tenurev1.CreateSessionRequest{
				Node: c.node(), Ttl: durationpb.New(3600e9), Checks: &tenurev1.SessionChecks{NodeChecks: []string{"down"}},
			})
		}},
		{"SyncNode", sync},
		{"SyncNode that is late", sync},
		{"GetNode", func(ctx context.Context, c *client) (any, error) {
			return c.GetNode(ctx, &tenurev1.GetNodeRequest{Node: c.node()})
		}},
		{"GetNode of none", func(ctx context.Context, c *client) (any, error) {
			return c.GetNode(ctx, &tenurev1.GetNodeRequest{Node: "nothing"})
		}},
		{"ListNodes", func(ctx context.Context, c *client) (any, error) {
			return c.ListNodes(ctx, &tenurev1.ListNodesRequest{NamePrefix: c.node()})
		}},
		{"ListServices", func(ctx context.Context, c *client) (any, error) {
			return c.ListServices(ctx, &tenurev1.ListServicesRequest{NamePrefix: c.node()})
		}},
		{"ListInstances", func(ctx context.Context, c *client) (any, error) {
			return c.ListInstances(ctx, &tenurev1.ListInstancesRequest{Service: c.node() + "-web", Passing: true})
		}},
		{"ListChecks", func(ctx context.Context, c *client) (any, error) {
			return c.ListChecks(ctx, &tenurev1.ListChecksRequest{Node: c.node()})
		}},
		{"Txn on the catalog", func(ctx context.Context, c *client) (any, error) {
			return c.Txn(ctx, &tenurev1.TxnRequest{Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Catalog{Catalog: &tenurev1.CatalogOp{
				Kind: &tenurev1.CatalogOp_Get{Get: &tenurev1.CatalogName{Node: c.node(), CheckId: "disk"}},
			}}}}})
		}},
		{"UpdateCheck of none", func(ctx context.Context, c *client) (any, error) {
			return c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{
				Node: c.node(), CheckId: "down", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING,
			})
		}},
		{"UpdateCheck that ends a session", func(ctx context.Context, c *client) (any, error) {
			return c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{
				Node: c.node(), CheckId: "up", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL, Output: "no answer",
			})
		}},
		{"GetSession that a check ended", func(ctx context.Context, c *client) (any, error) {
			return c.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: c.sessions["bound"]})
		}},
		{"DeregisterCheck", func(ctx context.Context, c *client) (any, error) {
			return c.DeregisterCheck(ctx, &tenurev1.DeregisterCheckRequest{Node: c.node(), CheckId: "disk"})
		}},
		{"DeregisterService", func(ctx context.Context, c *client) (any, error) {
			return c.DeregisterService(ctx, &tenurev1.DeregisterServiceRequest{Node: c.node(), ServiceId: "web-1"})
		}},
		{"DeregisterNode", func(ctx context.Context, c *client) (any, error) {
			return c.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{Node: c.node(), IfNodeId: c.nodeID})
		}},
	}
}
