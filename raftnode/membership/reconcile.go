package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// reconcileEvery is how often a leader looks whether records and raft agree about the members.
const reconcileEvery = 500 * time.Millisecond

// reconciler finishes what changes of members left half done when a leader was lost between their steps, promotes
// learners, and raises the cluster version when all members can follow. It is a task of one term.
type reconciler struct {
	c       *Changes
	orphans map[uint64]time.Time // records that raft does not know, since when
	ready   map[uint64]int       // learners that have caught up, for how many looks
}

// Reconcile is the leader's task: it finishes what changes of members left half done, promotes learners, and raises the
// cluster version when all members can follow.
func (c *Changes) Reconcile(ctx context.Context, _ uint64) error {
	r := &reconciler{c: c, orphans: map[uint64]time.Time{}, ready: map[uint64]int{}}
	tick := time.NewTicker(reconcileEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		select {
		case c.slot <- struct{}{}:
		default:
			continue // Somebody changes members just now.
		}
		err := r.look(ctx)
		<-c.slot
		if err != nil && ctx.Err() == nil {
			c.log.Debug("members are not reconciled", zap.Error(err))
		}
	}
}

func (r *reconciler) look(ctx context.Context) error {
	cs, err := r.c.Conf()
	if err != nil {
		return err
	}
	if err := r.records(ctx, cs); err != nil {
		return err
	}
	if done, err := r.expel(ctx, cs); done || err != nil {
		return err
	}
	if err := r.raise(ctx, cs); err != nil {
		return err
	}
	tokens := r.c.records.tokens()
	if done, err := r.replace(ctx, cs, tokens); done || err != nil {
		return err
	}
	return r.promote(ctx, cs, tokens)
}

// raise raises the cluster version to what every member can follow, so that what it stands for may be used. Members say in
// their records what they can follow; one that says nothing, or has no record yet, is waited for.
func (r *reconciler) raise(ctx context.Context, cs *raftpb.ConfState) error {
	_, version := storage.ClusterVersions()
	version = max(version, r.c.o.VersionMax)
	follows := map[uint64]uint32{}
	for _, m := range r.c.records.all() {
		follows[m.GetId()] = m.GetVersionMax()
	}
	for _, id := range slices.Concat(cs.GetVoters(), cs.GetLearners()) {
		version = min(version, follows[id])
	}
	present := r.c.o.Consensus.Store().Applied().ClusterVersion
	if version <= present {
		return nil
	}
	result, err := r.c.o.Consensus.Propose(ctx, &storev1.Command{
		WallTimeMs: time.Now().UnixMilli(),
		Kind:       &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: version}},
	})
	if err != nil {
		return err
	}
	if f := result.GetFailure(); f != nil {
		return fmt.Errorf("raise the cluster version to %d: %s", version, storage.FailureText(f))
	}
	r.c.log.Info("raised the cluster version", zap.Uint32("from", present), zap.Uint32("to", version))
	return nil
}

// expel removes one member from raft whose record was deleted, as it can be while the change that adds it is on its way.
// Nobody talks to such a member, so it would stay as it is for ever. It reports whether it changed the members.
func (r *reconciler) expel(ctx context.Context, cs *raftpb.ConfState) (bool, error) {
	for _, id := range slices.Concat(cs.GetLearners(), cs.GetVoters()) {
		if id == r.c.o.Member || !r.c.records.tombstoned(id) {
			continue
		}
		if slices.Contains(cs.GetVoters(), id) {
			if err := r.c.checkQuorum(without(cs.GetVoters(), id)); err != nil {
				return false, err
			}
		}
		if err := r.c.o.Confs.Change(ctx, core.Guard{}, single(raftpb.ConfChangeRemoveNode, id)); err != nil {
			return false, err
		}
		r.c.log.Info("removed a member whose record is deleted", zap.Uint64("member", id))
		return true, nil
	}
	return false, nil
}

// records makes the records say what raft does.
func (r *reconciler) records(ctx context.Context, cs *raftpb.ConfState) error {
	var errs []error
	seen := map[uint64]bool{}
	tokens := r.c.records.tokens()
	for _, m := range r.c.records.all() {
		id := m.GetId()
		seen[id] = true
		learner := slices.Contains(cs.GetLearners(), id)
		switch {
		case !core.IsMember(cs, id) && m.GetLearner() && m.GetStarts() == 0 && tokens[id].GetMemberId() == id:
			// It asked to join, and the leader was lost before raft knew it: no leader has ever heard from it. It may be away
			// now, and the token is its own for good.
			errs = append(errs, r.c.enlist(ctx, cs, m))
		case !core.IsMember(cs, id):
			// A voter without a place was removed. A learner may be about to be added; it may also never come.
			since, ok := r.orphans[id]
			if !ok {
				since = time.Now()
				r.orphans[id] = since
			}
			if m.GetLearner() && time.Since(since) < orphanGrace {
				continue
			}
			r.c.log.Info("forgets a member that is none", zap.Uint64("member", id), zap.String("name", m.GetName()))
			errs = append(errs, r.c.records.remove(ctx, id))
		case m.GetLearner() != learner:
			fixed := proto.CloneOf(m)
			fixed.Learner = learner
			fixed.StayLearner = m.GetStayLearner() && learner
			errs = append(errs, r.c.records.put(ctx, fixed))
			delete(r.orphans, id)
		default:
			delete(r.orphans, id)
		}
	}
	for id := range r.orphans {
		if !seen[id] {
			delete(r.orphans, id)
		}
	}
	return errors.Join(errs...)
}

// isReady reports whether a learner has caught up for some time.
func (r *reconciler) isReady(id uint64) bool {
	if r.c.caughtUp(id) != nil {
		delete(r.ready, id)
		return false
	}
	if r.ready[id]++; r.ready[id] < caughtUpChecks {
		return false
	}
	delete(r.ready, id)
	return true
}

// replace lets a learner that has caught up take the place in which it joined, one at a time. It reports whether it
// changed the members. An operator has said so by name, so it also happens where learners are promoted by hand.
func (r *reconciler) replace(
	ctx context.Context, cs *raftpb.ConfState, tokens map[uint64]storage.JoinToken,
) (bool, error) {
	for _, id := range cs.GetLearners() {
		if old := replaces(cs, tokens, id); old != 0 && r.isReady(id) {
			return true, r.c.takePlace(ctx, cs, old, tokens[id])
		}
	}
	return false, nil
}

// promote lets the learners vote that have caught up for some time, one at a time.
func (r *reconciler) promote(ctx context.Context, cs *raftpb.ConfState, tokens map[uint64]storage.JoinToken) error {
	if r.c.o.ManualPromotion {
		return nil
	}
	for _, id := range cs.GetLearners() {
		if r.c.records.of(id).GetStayLearner() || replaces(cs, tokens, id) != 0 || !r.isReady(id) {
			continue
		}
		return r.c.promote(ctx, cs, id, false)
	}
	return nil
}
