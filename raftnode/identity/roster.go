package identity

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// roster keeps the address book: it follows the replicated records of members, and on the leader keeps them true.
type roster struct {
	n       *Self
	changed chan struct{} // 1 slot: records may be others
	differs chan struct{} // 1 slot: a record may not be true any more
	// records are those of the applied state, by id. The map is never changed.
	records atomic.Pointer[map[uint64]*storev1.Member]
	removed atomic.Pointer[map[uint64]bool]
}

// rosterRetry is how long the leader waits before it tries again to write a record.
const rosterRetry = time.Second

func newRoster(n *Self) *roster {
	r := &roster{n: n, changed: make(chan struct{}, 1), differs: make(chan struct{}, 1)}
	r.records.Store(&map[uint64]*storev1.Member{})
	r.removed.Store(&map[uint64]bool{})
	return r
}

// ring says that the records may have changed. It does not block.
func (r *roster) ring() {
	for _, c := range []chan struct{}{r.changed, r.differs} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// compare says that a member has described itself. It does not block.
func (r *roster) compare() {
	select {
	case r.differs <- struct{}{}:
	default:
	}
}

// member returns the record of a member, or nil.
func (r *roster) member(id uint64) *storev1.Member { return (*r.records.Load())[id] }

// isRemoved tells whether a member was removed for good.
func (r *roster) isRemoved(id uint64) bool { return (*r.removed.Load())[id] }

// run follows the records until ctx ends.
func (r *roster) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		}
		if err := r.refresh(); err != nil && ctx.Err() == nil {
			// The store is being replaced; whoever does that rings again.
			r.n.log.Debug("read members", zap.Error(err))
		}
	}
}

// refresh reads the records and tells the transport. Members that began the cluster are known before they are recorded.
func (r *roster) refresh() error {
	n := r.n
	reader := n.m.Consensus.Store().NewReader()
	members, err := reader.Members()
	var removed []*storev1.RemovedMemberRecord
	if err == nil {
		removed, err = reader.RemovedMembers()
	}
	if err = errors.Join(err, reader.Close()); err != nil {
		return err
	}
	records := map[uint64]*storev1.Member{}
	for _, m := range members {
		records[m.GetId()] = m
	}
	gone := make([]uint64, 0, len(removed))
	for _, m := range removed {
		gone = append(gone, m.GetMember().GetId())
	}
	if n.wire != nil {
		for _, m := range n.wire.presentGenesis().GetMembers() {
			if records[m.GetId()] == nil {
				f := &storev1.Member{
					Id: m.GetId(), Incarnation: m.GetIncarnation(), Name: m.GetName(), PeerAddress: m.GetPeerAddress(),
				}
				records[m.GetId()] = f
				members = append(members, f)
			}
		}
		if n.m.Consensus.Store().Applied().Index > 0 {
			n.wire.SetPeers(peersOf(members), gone)
		}
	}
	tombstones := map[uint64]bool{}
	for _, id := range gone {
		delete(records, id)
		tombstones[id] = true
	}
	r.records.Store(&records)
	r.removed.Store(&tombstones)
	return nil
}

// record keeps the records true while this member leads: each member's is what that one last said of itself.
func (r *roster) record(ctx context.Context, _ uint64) error {
	r.ring()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.differs:
		}
		if r.recordAll(ctx) {
			continue
		}
		retry := time.NewTimer(rosterRetry)
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil
		case <-retry.C:
			r.ring()
		}
	}
}

// recordAll writes the records that are not true, and reports whether all are now.
func (r *roster) recordAll(ctx context.Context) bool {
	n := r.n
	if err := r.refresh(); err != nil {
		return false
	}
	cs, err := core.UnmarshalConfState(n.m.Consensus.Store().Applied().ConfState)
	if err != nil {
		return false
	}
	stored := map[uint64]*storev1.Member{}
	for _, m := range n.m.Changes.Records() {
		stored[m.GetId()] = m
	}
	all := true
	for _, id := range slices.Concat(cs.GetVoters(), cs.GetLearners()) {
		next := r.desired(id, stored[id])
		if next == nil || proto.Equal(next, stored[id]) {
			continue
		}
		cmd := &storev1.Command{
			WallTimeMs: time.Now().UnixMilli(),
			Kind:       &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: next}},
		}
		result, err := n.m.Consensus.Propose(ctx, cmd)
		switch {
		case err != nil:
			all = false
		case result.GetFailure() != nil:
			n.log.Warn("what a member says of itself is not recorded", zap.String("member", next.GetName()),
				zap.String("reason", storage.FailureText(result.GetFailure())))
		default:
			n.log.Info("recorded member", zap.String("member", next.GetName()), zap.Uint64("member_id", id),
				zap.String("peer_address", next.GetPeerAddress()), zap.String("client_address", next.GetClientAddress()))
			n.m.Background.Go(func() { r.tryAddresses(ctx, next) })
		}
	}
	return all
}

// tryAddresses connects to what a member tells clients, and says so if that does not work from here. The peers' way is
// tried all the time.
func (r *roster) tryAddresses(ctx context.Context, m *storev1.Member) {
	if r.n.wire == nil || r.n.o.Listener.Addr().Network() != "tcp" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for flag, address := range map[string]string{
		"--advertise": m.GetClientAddress(), "--advertise-http": m.GetHttpAddress(),
	} {
		if address == "" {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // Nothing was sent on it.
			continue
		}
		if !errors.Is(ctx.Err(), context.Canceled) {
			r.n.log.Warn("a member advertises an address that the leader cannot connect to; clients may not either",
				zap.String("member", m.GetName()), zap.String("flag", flag), zap.String("address", address), zap.Error(err))
		}
	}
}

// desired returns what a member's record should be; nil if nothing is known.
func (r *roster) desired(id uint64, stored *storev1.Member) *storev1.Member {
	n := r.n
	said := n.o.describe(n.m.Identity)
	if id != n.m.Identity.MemberID && n.wire == nil {
		return nil
	}
	if id != n.m.Identity.MemberID {
		said = proto.CloneOf(n.wire.describedBy(id))
	}
	if said != nil && !storage.KnowsPrincipals(n.m.Consensus.Store().Applied().ClusterVersion) {
		said.ClientSecurity, said.PeerSecurity = 0, 0
	}
	switch {
	case n.wire == nil && stored == nil:
		// It is alone, and met nobody yet.
		return nil
	case said == nil && stored != nil:
		return nil
	case said == nil:
		// Known from the beginning of the cluster only.
		return r.member(id)
	case stored == nil:
		return said
	case said.GetStarts() < stored.GetStarts():
		// It was started again since, and told another leader.
		return nil
	}
	next := said
	// What the member does not decide itself stays.
	next.Learner, next.StayLearner = stored.GetLearner(), stored.GetStayLearner()
	return next
}
