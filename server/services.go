package server

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
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
	cluster   *clusterService
	renewer   *renewal.Renewer
}

// newAPI returns the services of a member, which share a caller, what watches hear of, and what renews sessions. The root
// completes those that need more.
func newAPI(c *call.Caller, hub *watch.Hub, r *renewal.Renewer) *api {
	locks := &lockService{Caller: c, hub: hub}
	return &api{
		Caller:    c,
		kv:        &kvService{Caller: c, locks: locks},
		locks:     locks,
		sessions:  &sessionService{Caller: c, renewer: r},
		elections: &electionService{Caller: c, locks: locks, hub: hub},
		watches:   &watchService{Caller: c, hub: hub, currency: newCurrency(c.Node)},
		cluster:   &clusterService{Caller: c, hub: hub},
		renewer:   r,
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

// clusterService serves operators.
type clusterService struct {
	tenurev1.UnimplementedClusterServiceServer
	*call.Caller
	hub     *watch.Hub
	self    member
	started time.Time
}

// member is what the server tells about itself.
type member struct {
	name, version, zone            string
	clientAddr, httpAddr, peerAddr string
}
