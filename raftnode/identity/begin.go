package identity

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
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// Peer is one of the members that begin a cluster.
type Peer struct {
	// Name is unique in the cluster.
	Name string
	// Address is where other members reach it, host:port.
	Address string
}

// Errors of members that cannot begin or join a cluster. Their texts say what to do.
var (
	// ErrNotFounding says that the member's name is not in its own list of first members.
	ErrNotFounding = errors.New("--initial-cluster does not name this member")
	// ErrClusterBegan says that the cluster began without this directory.
	ErrClusterBegan = errors.New("the cluster was started already, with another data directory for this name")
	// ErrWaitsForCluster says that the member was told to begin or join a cluster before, and is not told any more.
	ErrWaitsForCluster = errors.New("the data directory waits for its cluster: give --initial-cluster or --join as before")
	// ErrBadAnswer says that another member gave an answer with which this one cannot begin.
	ErrBadAnswer = errors.New("another member gave an answer that this one cannot use")
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

func pastOf(dir *datadir.Dir) (p past, err error) {
	raw, err := dir.Genesis()
	if err == nil && raw != nil {
		p.genesis, err = decodeGenesis(raw)
	}
	if err != nil {
		return p, err
	}
	if raw, err = dir.Joined(); err == nil && raw != nil {
		p.joined, err = decodeJoined(raw)
	}
	return p, err
}

// Genesis is what a fresh directory begins with: the same for all first members of a cluster but for their own ids.
type Genesis struct {
	ClusterID, HistoryID [16]byte
	MemberID             uint64
	Voters               []uint64
	// Empty begins with nothing at all, and waits for a snapshot.
	Empty bool
}

// BeginAlone refuses to make a cluster of one of a directory that waits for others: that would be a second one under the
// same id, or one without.
func BeginAlone(dir *datadir.Dir, id datadir.Identity) error {
	p, err := pastOf(dir)
	if err == nil && (p.genesis != nil || p.joined != nil || id.ClusterID == [16]byte{}) {
		err = ErrNoPeers
	}
	return err
}

// beginning is how a directory that has not started yet begins.
type beginning struct {
	*Wire
	// own is whose the directory is; nothing else changes it meanwhile.
	own datadir.Identity
}

// Begin finds out how a directory that has not started yet begins, and whose it is then. On one that has started the flags of
// the beginning mean nothing any more; its genesis, as that of one that begins alone, is nil. What an earlier run has begun
// goes before the flags: others may have acted on it.
func (w *Wire) Begin(ctx context.Context, own datadir.Identity, started bool) (*Genesis, datadir.Identity, error) {
	b := &beginning{Wire: w, own: own}
	g, err := b.begin(ctx, started)
	return g, b.own, err
}

func (w *beginning) begin(ctx context.Context, started bool) (*Genesis, error) {
	p, err := pastOf(w.dir)
	if err != nil {
		return nil, err
	}
	if p.genesis != nil {
		w.setGenesis(p.genesis)
	}
	if p.joined != nil {
		w.SetPeers(peersOf(p.joined.GetMembers()), nil)
	}
	if started {
		w.noteIgnored()
		return nil, nil
	}
	switch {
	case p.genesis != nil:
		return w.adopt(p.genesis)
	case p.joined != nil && (len(w.o.Join) == 0 || !w.o.hasJoinToken()):
		w.log.Info("continues to join the cluster that the member was added to before",
			zap.String("cluster_id", fmt.Sprintf("%x", p.joined.GetClusterId())))
		return w.joined(p.joined)
	case p.joined != nil:
		return w.join(ctx)
	case len(w.o.InitialCluster) > 0, len(w.o.Join) > 0:
		return w.beginWith(ctx)
	case w.own.ClusterID == [16]byte{}:
		return nil, ErrWaitsForCluster
	default:
		return nil, nil
	}
}

// beginWith begins with others. If the directory has a cluster's id then of one that it was about to begin alone, which
// nobody has heard of.
func (w *beginning) beginWith(ctx context.Context) (*Genesis, error) {
	w.own.ClusterID = [16]byte{}
	w.setIdentity(w.own)
	if len(w.o.InitialCluster) == 0 {
		return w.join(ctx)
	}
	g, err := w.found(ctx)
	if err != nil {
		return nil, err
	}
	return w.adopt(g)
}

func (w *Wire) setGenesis(g *peerv1.Genesis) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.genesis = g
}

func (w *Wire) presentGenesis() *peerv1.Genesis {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.genesis
}

// noteIgnored says that the flags of the beginning have no effect, where that may surprise.
func (w *beginning) noteIgnored() {
	if len(w.o.InitialCluster) == 0 {
		return
	}
	if g := w.presentGenesis(); g != nil && sameFounding(g.GetMembers(), foundingList(w.o.InitialCluster)) {
		w.log.Info("the cluster was started already; --initial-cluster has no effect")
		return
	}
	w.log.Warn("--initial-cluster has no effect: this data directory belongs to a cluster that was started in another way",
		zap.String("cluster_id", fmt.Sprintf("%x", w.own.ClusterID)))
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
func (w *beginning) adopt(g *peerv1.Genesis) (*Genesis, error) {
	id := w.own
	self := foundingMember(g, w.o.Name)
	if self == nil || self.GetId() != id.MemberID || self.GetIncarnation() != id.Incarnation {
		return nil, fmt.Errorf("%w: %s", ErrClusterBegan, adviceWiped(w.o.Name))
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode genesis: %w", err)
	}
	if err := w.dir.WriteGenesis(raw); err != nil {
		return nil, err
	}
	id.ClusterID = [16]byte(g.GetClusterId())
	if err := w.dir.WriteIdentity(id); err != nil {
		return nil, err
	}
	w.own = id
	begun := &Genesis{ClusterID: id.ClusterID, HistoryID: [16]byte(g.GetHistoryId()), MemberID: id.MemberID}
	for _, m := range g.GetMembers() {
		begun.Voters = append(begun.Voters, m.GetId())
	}
	slices.Sort(begun.Voters)
	w.setGenesis(g)
	w.setIdentity(id)
	return begun, nil
}

// adviceWiped says what to do about a lost data directory.
func adviceWiped(name string) string {
	return fmt.Sprintf("if its data is permanently lost, run \"tenure member remove %[1]s\" and \"tenure member add %[1]s\" against "+
		"another member, then start this one with --join ADDRESS in place of --initial-cluster and with the token that was printed; "+
		"otherwise, give the --data-dir that it had", name)
}

// found finds out how the cluster begins: the first of the list composes the genesis once all have said who they are, the
// others take it from whoever has it.
func (w *beginning) found(ctx context.Context) (*peerv1.Genesis, error) {
	if !slices.ContainsFunc(w.o.InitialCluster, func(p Peer) bool { return p.Name == w.o.Name }) {
		return nil, fmt.Errorf("%w: %q", ErrNotFounding, w.o.Name)
	}
	reported := time.Now()
	for {
		seen := w.probeAll(ctx, w.o.InitialCluster)
		g, waits, err := w.decide(seen)
		if g != nil || err != nil {
			return g, err
		}
		if time.Since(reported) > beginReport {
			reported = time.Now()
			w.log.Info("waits for the other members to start the cluster", zap.Strings("for", waits))
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
func (w *beginning) probeAll(ctx context.Context, peers []Peer) []sighting {
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
func (w *beginning) decide(seen []sighting) (*peerv1.Genesis, []string, error) {
	var waits []string
	for _, s := range seen {
		switch {
		case s.err != nil:
			waits = append(waits, fmt.Sprintf("%s at %s (%v)", s.Name, s.Address, s.err))
		case s.resp.GetHeader().GetName() != s.Name:
			waits = append(waits, fmt.Sprintf("%s at %s (%q answers there)", s.Name, s.Address, s.resp.GetHeader().GetName()))
		case s.resp.GetGenesis() != nil && foundingMember(s.resp.GetGenesis(), w.o.Name) != nil:
			// It may name another directory; whoever adopts it finds out.
			if err := checkGenesis(s.resp.GetGenesis()); err != nil {
				return nil, nil, fmt.Errorf("%w: member %q at %s reports how the cluster was started: %w", ErrBadAnswer, s.Name, s.Address, err)
			}
			return s.resp.GetGenesis(), nil, nil
		case !isZero(s.resp.GetHeader().GetClusterId()):
			return nil, nil, fmt.Errorf("%w: member %q is of cluster %x: %s", ErrClusterBegan,
				s.Name, s.resp.GetHeader().GetClusterId(), adviceWiped(w.o.Name))
		case !sameFounding(s.resp.GetFounding(), foundingList(w.o.InitialCluster)):
			waits = append(waits, fmt.Sprintf("%s at %s (its --initial-cluster is another)", s.Name, s.Address))
		}
	}
	if len(waits) > 0 {
		return nil, waits, nil
	}
	if w.o.InitialCluster[0].Name != w.o.Name {
		return nil, []string{w.o.InitialCluster[0].Name + " to start it"}, nil
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
		return fmt.Errorf("%w (%w); to use this machine again, remove the data directory, run \"tenure member add NAME\" "+
			"at another member, and start with --join ADDRESS and the token that it prints",
			membership.ErrRemoved, err)
	case errors.Is(err, transport.ErrStaleIncarnation):
		return fmt.Errorf("%w; run only one process on one data directory, never one that was copied or restored from a "+
			"backup: if the newer one is permanently lost, remove the member from the cluster, remove this directory, run "+
			"\"tenure member add NAME\" at another member, and start with --join ADDRESS and the token that it prints; only if you know that this directory "+
			"is the newest, use \"tenure recover --start-after N\", which makes it continue from the start that the others know", err)
	default:
		return err
	}
}
