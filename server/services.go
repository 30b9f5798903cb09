package server

import (
	"context"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/cluster"
	"github.com/tenure-io/tenure/server/renewal"
	"github.com/tenure-io/tenure/server/watch"
)

// api has all services of a member. A method of a service validates, asks the session's secret where it acts as one, proposes a
// command or reads a snapshot, and converts the outcome. Its errors are of package reason, or those of other rooms; the
// gate makes statuses of them.
type api struct {
	*call.Caller
	kv        *kvService
	locks     *lockService
	sessions  *sessionService
	elections *electionService
	watches   *watchService
	cluster   *cluster.Service
	renewer   *renewal.Renewer
}

// apiOptions are what the services need. The root gives all of it.
type apiOptions struct {
	// Caller is shared by all of them.
	Caller *call.Caller
	// Hub has the events that watches and waits hear of.
	Hub *watch.Hub
	// Renewer renews sessions.
	Renewer *renewal.Renewer
	// Share divides sessions between callers.
	Share *sessionShare
	// TTLMin is the shortest TTL of a session.
	TTLMin time.Duration
	// Self is what the member says of itself.
	Self cluster.Self
}

// run proves to watches that this member shows all that is committed, until ctx ends.
func (a *watchService) run(ctx context.Context) { a.currency.run(ctx) }

// newAPI returns the services of a member.
func newAPI(o apiOptions) *api {
	locks := &lockService{Caller: o.Caller, hub: o.Hub}
	return &api{
		Caller:    o.Caller,
		kv:        &kvService{Caller: o.Caller, locks: locks},
		locks:     locks,
		sessions:  &sessionService{Caller: o.Caller, renewer: o.Renewer, share: o.Share, ttlMin: o.TTLMin},
		elections: &electionService{Caller: o.Caller, locks: locks, hub: o.Hub},
		watches:   &watchService{Caller: o.Caller, hub: o.Hub, currency: newCurrency(o.Caller.Node)},
		cluster:   cluster.New(o.Caller, o.Hub, o.Self),
		renewer:   o.Renewer,
	}
}

// kvService serves keys and transactions.
type kvService struct {
	tenurev1.UnimplementedKVServiceServer
	*call.Caller
	locks *lockService // for operations on locks in a transaction
}

// lockService serves locks.
type lockService struct {
	tenurev1.UnimplementedLockServiceServer
	*call.Caller
	hub *watch.Hub
}

// sessionService serves sessions.
type sessionService struct {
	tenurev1.UnimplementedSessionServiceServer
	*call.Caller
	renewer *renewal.Renewer
	// share divides sessions between callers.
	share  *sessionShare
	ttlMin time.Duration
}

// electionService serves elections, which are locks whose holder says something.
type electionService struct {
	tenurev1.UnimplementedElectionServiceServer
	*call.Caller
	locks *lockService
	hub   *watch.Hub
}

// watchService serves watches.
type watchService struct {
	tenurev1.UnimplementedWatchServiceServer
	*call.Caller
	hub      *watch.Hub
	currency *currency
}
