package server

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/watch"
)

// api is the receiver of all services. A method validates, asks the session's secret where it acts as one, proposes a
// command or reads a snapshot, and converts the outcome. Its errors are apiErrors, or those of other rooms; the
// interceptors make statuses of them.
type api struct {
	tenurev1.UnimplementedClusterServiceServer
	tenurev1.UnimplementedElectionServiceServer
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedWatchServiceServer

	*call.Caller
	hub      *watch.Hub
	hints    *hinter
	renewals *relayedRenewals
	currency *currency
	proofs   proofs
	// streamSessionsMax is how many sessions one KeepAlive stream renews.
	streamSessionsMax int
	self              member
	// sessionShare divides sessions between callers.
	sessionShare *sessionShare
	ttlMin       time.Duration
	started      time.Time
}

// member is what the server tells about itself.
type member struct {
	name, version, zone            string
	clientAddr, httpAddr, peerAddr string
}
