package identity

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

const (
	// startJumpMax is how many starts a member may have had since the last one that is known here, if it does not answer
	// where it is known to be. More than that nobody misses.
	startJumpMax = 1 << 16
	// startsRefusedShown is for how long the alarm stands after the last one.
	startsRefusedShown = 15 * time.Minute
)

// startClaims decides whether a caller that names a later start of a member than is known is that member. It asks the member
// itself, at the address where it is known to be and at the one that the caller names: a number that nobody answers for
// would keep the member away for good.
type startClaims struct {
	w *Wire

	mu    sync.Mutex // guards what follows
	at    time.Time  // of the last one that was refused; zero: there was none
	claim transport.Claim
}

// believe reports whether a caller is to be taken for a later start of a member.
func (s *startClaims) believe(ctx context.Context, c transport.Claim) bool {
	n := s.w.self.Load()
	if c.Address == "" && n != nil && !storage.NamesAddresses(n.m.Consensus.Store().Applied().ClusterVersion) {
		// A program of before, which may have moved. It names no address.
		return c.Jump() <= startJumpMax || s.refuse(c)
	}
	recorded := ""
	for _, p := range s.w.Peers() {
		if p.ID == c.Member {
			recorded = p.Address
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	type answer struct {
		recorded bool
		starts   uint64
	}
	answers := make(chan answer, 2)
	asked := 0
	ask := func(address string) {
		if address != "" {
			asked++
			go func() { answers <- answer{address == recorded, s.startsAt(ctx, address, c)} }()
		}
	}
	ask(recorded)
	if c.Address != recorded {
		ask(c.Address)
	}
	disproved := false
	for range asked {
		switch a := <-answers; {
		case a.starts == c.Starts && (a.recorded || c.Jump() <= startJumpMax):
			return true
		case a.starts == c.Starts, a.recorded && a.starts != 0:
			disproved = true
		}
	}
	return disproved && s.refuse(c)
}

// startsAt returns the number of starts of the member at an address, 0 if another one answers there, or none.
func (s *startClaims) startsAt(ctx context.Context, address string, c transport.Claim) uint64 {
	cluster := s.w.header().GetClusterId()
	resp, err := s.w.Transport.Probe(ctx, address, &peerv1.ProbeRequest{Caller: &peerv1.PeerHeader{ClusterId: cluster}})
	h := resp.GetHeader()
	if err != nil || h.GetFrom() != c.Member || h.GetFromIncarnation() != c.Incarnation || !bytes.Equal(h.GetClusterId(), cluster) {
		return 0
	}
	return h.GetStarts()
}

// refuse notes a caller that is not believed, for the alarm. It returns false.
func (s *startClaims) refuse(c transport.Claim) bool {
	s.mu.Lock()
	first := time.Since(s.at) > startsRefusedShown
	s.at, s.claim = time.Now(), c
	s.mu.Unlock()
	if n := s.w.self.Load(); n != nil {
		n.m.StartsRefused.Inc()
	}
	if first {
		s.w.log.Error("a caller named a start of a member that the member does not confirm; it was refused",
			zap.Uint64("member", c.Member), zap.Uint64("start", c.Start()), zap.Uint64("known_start", c.KnownStart()),
			zap.String("address", c.Address))
	}
	return false
}

// alarm tells of the last one.
func (s *startClaims) alarm() []health.Alarm {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || time.Since(s.at) > startsRefusedShown {
		return nil
	}
	return []health.Alarm{{Name: health.AlarmStartRefused, Member: s.claim.Member, Message: fmt.Sprintf(
		"A caller on the peer port named start %d of member %x; start %d is known, and the member does not confirm the other. "+
			"The caller was refused.", s.claim.Start(), s.claim.Member, s.claim.KnownStart())}}
}
