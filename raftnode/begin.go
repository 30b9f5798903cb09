package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// Errors of members that cannot begin or join a cluster. Their texts say what to do.
var (
	// ErrNotFounding says that the member's name is not in its own list of first members.
	ErrNotFounding = errors.New("--initial-cluster does not name this member")
	// ErrClusterBegan says that the cluster began without this directory.
	ErrClusterBegan = errors.New("the cluster has begun already, with another data directory for this name")
	// ErrWaitsForCluster says that the member was told to begin or join a cluster before, and is not told any more.
	ErrWaitsForCluster = errors.New("the data directory waits for its cluster: give --initial-cluster or --join as before")
	// ErrBadAnswer says that another member gave an answer with which this one cannot begin.
	ErrBadAnswer = errors.New("another member's answer is of no use")
	// ErrNoPeers says that a member that should have peers has no listener for them.
	ErrNoPeers = errors.New("a member of a cluster of several needs an address for its peers: give --peer")
)

const (
	// probeTimeout bounds one question to one member, beginRetry how soon it is asked again.
	probeTimeout = 2 * time.Second
	beginRetry   = 100 * time.Millisecond
	// beginReport is how often a member that waits says for whom.
	beginReport = 5 * time.Second
)

// past is what an earlier run of a member on this directory has begun.
type past struct {
	genesis *peerv1.Genesis      // of the cluster that it began with others; nil if it did not
	joined  *peerv1.JoinResponse // with which it was added to a cluster, while it has no state; nil if it was not
}

func (d *disk) past() (p past, err error) {
	raw, err := d.dir.Genesis()
	if err == nil && raw != nil {
		p.genesis, err = decodeGenesis(raw)
	}
	if err != nil {
		return p, err
	}
	if raw, err = d.dir.Joined(); err == nil && raw != nil {
		p.joined, err = decodeJoined(raw)
	}
	return p, err
}

// beginAlone refuses to make a cluster of one of a directory that waits for others: that would be a second one under the
// same id, or one without.
func (d *disk) beginAlone() error {
	if d.started {
		return nil
	}
	p, err := d.past()
	if err == nil && (p.genesis != nil || p.joined != nil || d.identity.ClusterID == [16]byte{}) {
		err = ErrNoPeers
	}
	return err
}

// begin finds out how a directory that has not started yet begins, and tells the options. On one that has started the
// flags of the beginning mean nothing any more. What an earlier run has begun goes before the flags: others may have acted
// on it.
func (w *wire) begin(ctx context.Context, o *Options) error {
	p, err := w.d.past()
	if err != nil {
		return err
	}
	if p.genesis != nil {
		w.setGenesis(p.genesis)
	}
	if p.joined != nil {
		w.SetPeers(peersOf(p.joined.GetMembers()), nil)
	}
	if w.d.started {
		w.noteIgnored(*o)
		return nil
	}
	switch {
	case p.genesis != nil:
		return w.adopt(o, p.genesis)
	case p.joined != nil && (len(o.Join) == 0 || !o.hasJoinToken()):
		w.log.Info("goes on joining the cluster that the member was added to before",
			zap.String("cluster_id", fmt.Sprintf("%x", p.joined.GetClusterId())))
		return w.joined(o, p.joined)
	case p.joined != nil:
		return w.join(ctx, o)
	case len(o.InitialCluster) > 0, len(o.Join) > 0:
		return w.beginWith(ctx, o)
	case w.d.identity.ClusterID == [16]byte{}:
		return ErrWaitsForCluster
	default:
		return nil
	}
}

// beginWith begins with others. If the directory has a cluster's id then of one that it was about to begin alone, which
// nobody has heard of.
func (w *wire) beginWith(ctx context.Context, o *Options) error {
	w.d.identity.ClusterID = [16]byte{}
	w.setIdentity(w.d.identity)
	if len(o.InitialCluster) == 0 {
		return w.join(ctx, o)
	}
	g, err := w.found(ctx, o)
	if err != nil {
		return err
	}
	return w.adopt(o, g)
}

func (w *wire) setGenesis(g *peerv1.Genesis) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.genesis = g
}

func (w *wire) presentGenesis() *peerv1.Genesis {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.genesis
}

// noteIgnored says that the flags of the beginning have no effect, where that may surprise.
func (w *wire) noteIgnored(o Options) {
	if len(o.InitialCluster) == 0 {
		return
	}
	if g := w.presentGenesis(); g != nil && sameFounding(g.GetMembers(), foundingList(o.InitialCluster)) {
		w.log.Info("the cluster began before; --initial-cluster has no effect")
		return
	}
	w.log.Warn("--initial-cluster has no effect: this data directory belongs to a cluster that began in another way",
		zap.String("cluster_id", fmt.Sprintf("%x", w.d.identity.ClusterID)))
}

func foundingList(peers []Peer) []*peerv1.FoundingMember {
	list := make([]*peerv1.FoundingMember, 0, len(peers))
	for _, p := range peers {
		list = append(list, &peerv1.FoundingMember{Name: p.Name, PeerAddress: p.Address})
	}
	return list
}

// adopt begins with a genesis. It is on disk before this member acts on it or tells others, and names this directory, so
// that a member begins at most once, and a cluster that a majority began is the only one that can.
func (w *wire) adopt(o *Options, g *peerv1.Genesis) error {
	id := w.d.identity
	self := foundingMember(g, o.Name)
	if self == nil || self.GetId() != id.MemberID || self.GetIncarnation() != id.Incarnation {
		return fmt.Errorf("%w: %s", ErrClusterBegan, adviceWiped(o.Name))
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode genesis: %w", err)
	}
	if err := w.d.dir.WriteGenesis(raw); err != nil {
		return err
	}
	id.ClusterID = [16]byte(g.GetClusterId())
	if err := w.d.dir.WriteIdentity(id); err != nil {
		return err
	}
	w.d.identity = id
	o.genesis = &genesis{clusterID: id.ClusterID, historyID: [16]byte(g.GetHistoryId()), memberID: id.MemberID}
	for _, m := range g.GetMembers() {
		o.genesis.voters = append(o.genesis.voters, m.GetId())
	}
	slices.Sort(o.genesis.voters)
	w.setGenesis(g)
	w.setIdentity(id)
	return nil
}

// adviceWiped says what to do about a lost data directory.
func adviceWiped(name string) string {
	return fmt.Sprintf("if its data is lost for good, run \"tenure member remove %[1]s\" and \"tenure member add %[1]s\" against "+
		"another member, then start this one with --join ADDRESS in place of --initial-cluster and with the token that was printed; "+
		"if it is not, give the --data-dir that it had", name)
}

// found finds out how the cluster begins: the first of the list composes the genesis once all have said who they are, the
// others take it from whoever has it.
func (w *wire) found(ctx context.Context, o *Options) (*peerv1.Genesis, error) {
	if !slices.ContainsFunc(o.InitialCluster, func(p Peer) bool { return p.Name == o.Name }) {
		return nil, fmt.Errorf("%w: %q", ErrNotFounding, o.Name)
	}
	reported := time.Now()
	for {
		seen := w.probeAll(ctx, o.InitialCluster)
		g, waits, err := w.decide(o, seen)
		if g != nil || err != nil {
			return g, err
		}
		if time.Since(reported) > beginReport {
			reported = time.Now()
			w.log.Info("waits for the other members to begin the cluster", zap.Strings("for", waits))
		}
		retry := time.NewTimer(beginRetry)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// sighting is what one of the first members said of itself.
type sighting struct {
	Peer
	resp *peerv1.ProbeResponse
	err  error
}

// probeAll asks all first members but this one who they are.
func (w *wire) probeAll(ctx context.Context, peers []Peer) []sighting {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	seen := make([]sighting, len(peers))
	var asked sync.WaitGroup
	for i, p := range peers {
		seen[i].Peer = p
		if p.Name == w.o.Name {
			seen[i].resp = &peerv1.ProbeResponse{Header: w.header(), Founding: foundingList(peers)}
			continue
		}
		asked.Go(func() {
			seen[i].resp, seen[i].err = w.Transport.Probe(ctx, p.Address, &peerv1.ProbeRequest{Caller: w.header()})
		})
	}
	asked.Wait()
	return seen
}

// decide looks at what the first members said. Without a genesis or an error it says for whom to wait.
func (w *wire) decide(o *Options, seen []sighting) (*peerv1.Genesis, []string, error) {
	var waits []string
	for _, s := range seen {
		switch {
		case s.err != nil:
			waits = append(waits, fmt.Sprintf("%s at %s (%v)", s.Name, s.Address, s.err))
		case s.resp.GetHeader().GetName() != s.Name:
			waits = append(waits, fmt.Sprintf("%s at %s (%q answers there)", s.Name, s.Address, s.resp.GetHeader().GetName()))
		case s.resp.GetGenesis() != nil && foundingMember(s.resp.GetGenesis(), o.Name) != nil:
			// It may name another directory; whoever adopts it finds out.
			if err := checkGenesis(s.resp.GetGenesis()); err != nil {
				return nil, nil, fmt.Errorf("%w: member %q at %s tells how the cluster began: %w", ErrBadAnswer, s.Name, s.Address, err)
			}
			return s.resp.GetGenesis(), nil, nil
		case !isZero(s.resp.GetHeader().GetClusterId()):
			return nil, nil, fmt.Errorf("%w: member %q is of cluster %x: %s", ErrClusterBegan,
				s.Name, s.resp.GetHeader().GetClusterId(), adviceWiped(o.Name))
		case !sameFounding(s.resp.GetFounding(), foundingList(o.InitialCluster)):
			waits = append(waits, fmt.Sprintf("%s at %s (its --initial-cluster is another)", s.Name, s.Address))
		}
	}
	if len(waits) > 0 {
		return nil, waits, nil
	}
	if o.InitialCluster[0].Name != o.Name {
		return nil, []string{o.InitialCluster[0].Name + " to begin"}, nil
	}
	g := compose(seen)
	if err := checkGenesis(g); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return g, nil, nil
}

func isZero(id []byte) bool { return strings.Trim(string(id), "\x00") == "" }

// explainRefusal says what to do about a refusal by other members.
func explainRefusal(err error) error {
	switch {
	case errors.Is(err, transport.ErrRemoved):
		return fmt.Errorf("%w (%w); to use this machine again, remove the data directory and start with --join ADDRESS",
			ErrRemoved, err)
	case errors.Is(err, transport.ErrStaleIncarnation):
		return fmt.Errorf("%w; run only one process on one data directory, never one that was copied or restored from a "+
			"backup: if the newer one is lost for good, remove the member from the cluster, remove this directory, and "+
			"start with --join ADDRESS; only if you know that this directory is the newest, \"tenure recover --start-after N\" makes "+
			"it count on from the start that the others know", err)
	default:
		return err
	}
}
