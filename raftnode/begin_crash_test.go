package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
)

// beginnings are the ways in which a directory can be started, whatever it was started as before.
func beginnings(s *stranger, self raftnode.Peer) map[string]func(o *raftnode.Options) {
	return map[string]func(o *raftnode.Options){
		"with --join":    func(o *raftnode.Options) { o.Join, o.JoinToken = []string{s.address}, someToken },
		"founding":       func(o *raftnode.Options) { o.InitialCluster = []raftnode.Peer{{Name: "s", Address: s.address}, self} },
		"founding alone": func(o *raftnode.Options) { o.InitialCluster = []raftnode.Peer{self} },
		"with nothing":   func(*raftnode.Options) {},
		"without peers":  func(o *raftnode.Options) { o.PeerListener = nil },
	}
}

// beginSweep begins a member in one way over a disk of which copies are taken at every write, and then starts each copy in
// every way.
type beginSweep struct {
	t        *testing.T
	s        *stranger
	sailor   *sailor
	self     raftnode.Peer
	joined   [16]byte // the cluster that can be joined, in which the member does not vote
	founded  [16]byte // the cluster that the stranger began with the member
	outcomes map[string]int
}

func newBeginSweep(t *testing.T) *beginSweep {
	c := newCrew(t)
	b := &beginSweep{t: t, s: &stranger{}, sailor: c.recruit("a"), outcomes: map[string]int{}}
	b.self = raftnode.Peer{Name: "a", Address: b.sailor.o.Addresses.Peer}
	copy(b.joined[:], "joinedjoinedjoin")
	copy(b.founded[:], "foundedfoundedfo")
	b.s.join = func(m *storev1.Member) *peerv1.JoinResponse {
		return &peerv1.JoinResponse{ClusterId: b.joined[:], Members: []*storev1.Member{
			{Id: 7, Incarnation: 8, Name: "s", PeerAddress: b.s.address},
			{Id: m.GetId(), Incarnation: m.GetIncarnation(), Name: m.GetName(), PeerAddress: m.GetPeerAddress(), Learner: true},
		}}
	}
	b.s.probe = func(caller *peerv1.PeerHeader) *peerv1.ProbeResponse {
		return &peerv1.ProbeResponse{Header: &peerv1.PeerHeader{Name: "s", From: 7}, Genesis: &peerv1.Genesis{
			ClusterId: b.founded[:], HistoryId: b.joined[:], Members: []*peerv1.FoundingMember{
				{Name: "s", PeerAddress: b.s.address, Id: 7, Incarnation: 8},
				{Name: "a", PeerAddress: b.self.Address, Id: caller.GetFrom(), Incarnation: caller.GetFromIncarnation()},
			},
		}}
	}
	b.s.serve(t)
	return b
}

// open opens the member in some way, on some disk.
func (b *beginSweep) open(fs vfs.FS, as func(o *raftnode.Options)) (*raftnode.Node, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), crewPatience)
	defer cancel()
	o := b.sailor.o
	o.FS = fs
	var err error
	if o.PeerListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addresses.Peer); err != nil {
		return nil, err
	}
	l := o.PeerListener
	if as(&o); o.PeerListener == nil {
		_ = l.Close() // Nobody has it.
	}
	return raftnode.OpenContext(ctx, o)
}

// check says what became of a copy that was started again, and fails if it is a second cluster under an id that another
// has: one in which this member is the only voter.
func (b *beginSweep) check(n *raftnode.Node, err error, fresh bool) string {
	for text, want := range map[string]error{
		"waits": raftnode.ErrWaitsForCluster, "no peers": raftnode.ErrNoPeers,
	} {
		if errors.Is(err, want) {
			if !strings.Contains(err.Error(), "--") {
				b.t.Errorf("%v does not say what to do", err)
			}
			return text
		}
	}
	if err != nil {
		return err.Error()
	}
	defer func() {
		if err := n.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	st := n.Status()
	alone := slices.Equal(st.Voters, []uint64{st.MemberID})
	switch {
	case st.ClusterID == [16]byte{}:
		return "a cluster without id"
	case st.ClusterID == b.joined && len(st.Voters) == 0:
		return "joins"
	case st.ClusterID == b.founded && len(st.Voters) == 2:
		return "founds"
	case st.ClusterID != b.joined && st.ClusterID != b.founded && alone:
		if fresh {
			return "begins anew"
		}
		return "begins alone"
	default:
		return fmt.Sprintf("cluster %q with voters %v", st.ClusterID, st.Voters)
	}
}

// Whatever the moment at which a member crashes that begins or joins, and however it is started again: it goes on, or says
// what to do, and never makes a second cluster of one that there is.
func TestCrashesAtEveryWriteOfABeginning(t *testing.T) {
	const refusedOrAnew = "waits, no peers, begins anew"
	tests := map[string]struct {
		// may says for every way to start again what may become of it.
		may map[string]string
		// must happen at least once.
		must []string
	}{
		"with --join": {
			map[string]string{
				"with --join": "joins", "founding": "joins, founds", "founding alone": refusedOrAnew + ", joins, begins alone",
				"with nothing": refusedOrAnew + ", joins", "without peers": refusedOrAnew + ", joins",
			},
			[]string{"with nothing: waits", "with nothing: joins", "founding: joins", "without peers: no peers"},
		},
		"founding": {
			map[string]string{
				"with --join": "joins, founds", "founding": "founds", "founding alone": refusedOrAnew + ", founds, begins alone",
				"with nothing": refusedOrAnew + ", founds", "without peers": refusedOrAnew + ", founds",
			},
			[]string{"with nothing: waits", "with nothing: founds", "without peers: no peers", "with --join: founds"},
		},
		"with nothing": {
			map[string]string{
				"with --join": "joins, begins alone", "founding": "founds, begins alone",
				"founding alone": "begins anew, begins alone", "with nothing": "begins alone, begins anew",
				"without peers": "begins alone, begins anew",
			},
			[]string{"with --join: joins", "founding: founds", "with nothing: begins alone"},
		},
	}
	for began, test := range tests {
		t.Run(began, func(t *testing.T) {
			b := newBeginSweep(t)
			ways := beginnings(b.s, b.self)
			disk := vfs.NewCrashableMem()
			tk := &taker{mem: disk, model: newModel(1, 0), gap: 1, max: 4000, rng: rand.New(rand.NewPCG(5, 5))}
			n, err := b.open(errfs.Wrap(apartFS{FS: disk, mu: &tk.apart}, tk), ways[began])
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			points := tk.points
			for i, p := range points {
				_, statErr := p.fs.Stat("/data/FORMAT")
				for again, as := range ways {
					// Most writes are a database's own, of which some will do.
					if len(points) > 60 && i > 30 && i < len(points)-15 && i%5 != len(again)%5 {
						continue
					}
					n, err := b.open(p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: tk.rng}), as)
					got := b.check(n, err, statErr != nil)
					b.outcomes[again+": "+got]++
					if !slices.Contains(strings.Split(test.may[again], ", "), got) {
						t.Errorf("crash point %d of %d (%s survives), started again %s: %s", i, len(points), p.loss, again, got)
					}
				}
			}
			t.Logf("%d crash points: %v", len(points), b.outcomes)
			for _, want := range test.must {
				if b.outcomes[want] == 0 {
					t.Errorf("never: %s", want)
				}
			}
		})
	}
}
