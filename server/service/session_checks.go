package service

import (
	"context"
	"errors"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// livenessWait is how long a new session waits for the check liveness of its node, which is sure to come.
const livenessWait = 5 * time.Second

// errNoLiveness ends the wait.
var errNoLiveness = errors.New("no check liveness yet")

// checksFromProto validates what a new session is to be bound to. Before the cluster version that knows the catalog nothing is
// registered, so only names of checks ask for too much.
func (a *Sessions) checksFromProto(r *tenurev1.CreateSessionRequest) (*storev1.SessionChecks, error) {
	checks, err := catalog.ChecksFromProto(r.GetChecks(), r.GetNode())
	if err != nil || storage.KnowsCatalog(a.Node.Store().Applied().ClusterVersion) {
		return checks, err
	}
	if len(checks.GetCheckIds()) > 0 {
		return nil, catalog.Enabled(a.Caller)
	}
	return nil, nil
}

// awaitLiveness waits a while, if a new session leaves its checks to the cluster and its node takes part in gossip, until the node
// has its check liveness. Without it the session is refused in the end, with the advice to come back.
func (a *Sessions) awaitLiveness(ctx context.Context, s *storev1.CreateSession) error {
	if s.GetChecks() != nil || s.GetNode() == "" || a.Node.Store().Applied().Nodes == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, livenessWait, errNoLiveness)
	defer cancel()
	for {
		changed := a.Arrivals.Next()
		there, err := a.hasLiveness(s.GetNode())
		if err != nil || there {
			return err
		}
		select {
		case <-changed:
		case <-a.Stopping.Done():
			return reason.ErrStopping
		case <-ctx.Done():
			if context.Cause(ctx) == errNoLiveness { //nolint:errorlint // It is that very value.
				return nil
			}
			return ctx.Err()
		}
	}
}

// hasLiveness reports whether a session with this node can be bound to what is known of it, as far as this member knows.
func (a *Sessions) hasLiveness(node string) (bool, error) {
	s, err := a.LocalSnapshot()
	if err != nil {
		return false, err
	}
	defer a.CloseSnapshot(s)
	n, found, err := s.Node(node)
	if err != nil || !found || n.Record.GetNode().GetGossipAddress() == "" {
		return true, err
	}
	_, found, err = s.Check(n.Key, catalog.LivenessID)
	return found, err
}
