package service

import (
	"context"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/cluster"
	"github.com/tenure-io/tenure/server/pool"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/query"
	"github.com/tenure-io/tenure/server/renewal"
	"github.com/tenure-io/tenure/server/watch"
)

// Services has all services of a member. A method of a service validates, asks the session's secret where it acts as one, proposes a
// command or reads a snapshot, and converts the outcome. Its errors are of package reason, or those of other rooms; the
// gate makes statuses of them.
type Services struct {
	*call.Caller
	KV        *KV
	Locks     *Locks
	Sessions  *Sessions
	Elections *Elections
	Watches   *Watches
	Cluster   *cluster.Service
	Catalog   *catalog.Service
	Queries   *query.Service
	Pool      *pool.Service
	Auth      *auth.Service
	renewer   *renewal.Renewer
}

// Options are what the services need. The root gives all of it.
type Options struct {
	// Caller is shared by all of them.
	Caller *call.Caller
	// Hub has the events that watches and waits hear of.
	Hub *watch.Hub
	// Renewer renews sessions.
	Renewer *renewal.Renewer
	// Share divides sessions between callers.
	Share *SessionShare
	// TTLMin is the shortest TTL of a session.
	TTLMin time.Duration
	// Self is what the member says of itself.
	Self cluster.Self
	// Pool knows the member's part in gossip.
	Pool *pool.Peers
	// Unsafe says which listener of this member is not safe enough for tokens; empty: none.
	Unsafe func() string
	// Nonces prove that callers can read the directory of this member.
	Nonces *auth.Nonces
	// Keys are those of the providers of JSON Web Tokens.
	Keys *provider.Keys
}

// Run proves to watches that this member shows all that is committed, until ctx ends.
func (a *Watches) Run(ctx context.Context) { a.currency.run(ctx) }

// Run waits, once ctx has ended, for the calls of locks that have ended before what they proposed.
func (a *Locks) Run(ctx context.Context) { a.undoer.Run(ctx) }

// New returns the services of a member.
func New(o Options) *Services {
	locks := &Locks{Caller: o.Caller, hub: o.Hub, undoer: call.NewUndoer(o.Caller)}
	return &Services{
		Caller:    o.Caller,
		KV:        &KV{Caller: o.Caller, locks: locks},
		Locks:     locks,
		Sessions:  &Sessions{Caller: o.Caller, renewer: o.Renewer, share: o.Share, ttlMin: o.TTLMin},
		Elections: &Elections{Caller: o.Caller, locks: locks, hub: o.Hub},
		Watches:   &Watches{Caller: o.Caller, hub: o.Hub, currency: newCurrency(o.Caller.Node)},
		Cluster:   cluster.New(o.Caller, o.Hub, o.Self),
		Catalog:   catalog.New(o.Caller),
		Queries:   query.New(o.Caller),
		Pool:      pool.NewService(o.Caller, o.Pool),
		Auth:      auth.New(auth.Options{Caller: o.Caller, Unsafe: o.Unsafe, Nonces: o.Nonces, Keys: o.Keys}),
		renewer:   o.Renewer,
	}
}

// KV serves keys and transactions.
type KV struct {
	tenurev1.UnimplementedKVServiceServer
	*call.Caller
	locks *Locks // for operations on locks in a transaction
}

// Locks serves locks.
type Locks struct {
	tenurev1.UnimplementedLockServiceServer
	*call.Caller
	hub    *watch.Hub
	undoer *call.Undoer // for calls that are to leave no place behind
}

// Sessions serves sessions.
type Sessions struct {
	tenurev1.UnimplementedSessionServiceServer
	*call.Caller
	renewer *renewal.Renewer
	// share divides sessions between callers.
	share  *SessionShare
	ttlMin time.Duration
}

// Elections serves elections, which are locks whose holder says something.
type Elections struct {
	tenurev1.UnimplementedElectionServiceServer
	*call.Caller
	locks *Locks
	hub   *watch.Hub
}

// Watches serves watches.
type Watches struct {
	tenurev1.UnimplementedWatchServiceServer
	*call.Caller
	hub      *watch.Hub
	currency *currency
}
