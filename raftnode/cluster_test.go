package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/raftnode"
)

// wires carry messages between the members of a test, in order, and lose some.
type wires struct {
	mu    sync.Mutex // guards what follows
	nodes map[uint64]*raftnode.Node
	cut   uint64 // member whose messages are all lost; 0 is none
	mute  uint64 // member whose messages to others are lost; 0 is none
	lossy int    // one message in so many is lost; 0 is none
	rng   *rand.Rand
}

// port is one member's end of the wires.
type port struct {
	w    *wires
	self uint64
}

func (p port) Send(msgs []*raftpb.Message) {
	for _, m := range msgs {
		if to := p.w.route(p.self, m.GetTo()); to != nil {
			// Members never share memory.
			b, err := proto.Marshal(m)
			if err != nil {
				panic(err)
			}
			copied := &raftpb.Message{}
			if err := proto.Unmarshal(b, copied); err != nil {
				panic(err)
			}
			to.Receive(copied)
		}
	}
}

func (w *wires) route(from, to uint64) *raftnode.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut == from || w.cut == to || w.mute == from || w.lossy > 0 && w.rng.IntN(w.lossy) == 0 {
		return nil
	}
	return w.nodes[to]
}

// start runs so many members and returns what stops one of them.
func (w *wires) start(t *testing.T, voters uint64) (stop func(id uint64)) {
	t.Helper()
	for id := uint64(1); id <= voters; id++ {
		o := raftnode.Options{FS: vfs.NewMem(), Dir: "/data", Transport: port{w: w, self: id}}
		n, err := raftnode.Open(raftnode.WithGenesis(o, id, voters))
		if err != nil {
			t.Fatal(err)
		}
		w.nodes[id] = n
	}
	stops := map[uint64]func(){}
	for id, n := range w.nodes {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		stops[id] = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	return func(id uint64) { stops[id]() }
}

func (w *wires) setCut(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = id
}

func (w *wires) setMute(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = id
}

// Three members, the leader cut off again and again, messages lost: what was acknowledged is on all of them, what was
// refused on none, reads on any member see what was acknowledged before, and all come to the same state.
func TestThreeMembersAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wires{nodes: map[uint64]*raftnode.Node{}, lossy: 50, rng: rand.New(rand.NewPCG(4, 4))}
		stop := w.start(t, 3)
		c := &clients{w: w}
		var proposers sync.WaitGroup
		loadCtx, stopLoad := context.WithCancel(t.Context())
		for p := range 6 {
			proposers.Go(func() { c.run(loadCtx, t, p) })
		}
		cuts := 30
		if raceDetector {
			cuts = 10
		}
		for range cuts {
			<-time.After(4 * time.Second)
			for id, n := range w.nodes {
				if n.Status().Role == "leader" {
					w.setCut(id)
				}
			}
			<-time.After(3 * time.Second)
			w.setCut(0)
		}
		<-time.After(5 * time.Second)
		stopLoad()
		proposers.Wait()
		c.check(t)
		for id := range w.nodes {
			stop(id)
		}
	})
}

// A leader that stops hands over first: the cluster takes the next command long before an election time-out.
func TestAStoppingLeaderHandsOver(t *testing.T) {
	for _, voters := range []uint64{2, 3} {
		t.Run(fmt.Sprintf("%d voters", voters), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wires{nodes: map[uint64]*raftnode.Node{}}
				stop := w.start(t, voters)
				if err := w.nodes[1].ReadIndex(t.Context()); err != nil {
					t.Fatal(err)
				}
				// One vote makes a leader of two or three; the other member may not have heard of the election yet.
				synctest.Wait()
				before := w.nodes[1].Status()
				began := time.Now()
				stop(before.Leader)
				synctest.Wait()
				other := w.nodes[before.Leader%voters+1]
				if after := other.Status(); after.Leader == before.Leader || after.Leader == 0 || after.Term != before.Term+1 {
					t.Errorf("after: leader %d in term %d, before: %d in %d", after.Leader, after.Term, before.Leader, before.Term)
				}
				if took := time.Since(began); took > 200*time.Millisecond {
					t.Errorf("took %v", took)
				}
				for id := range w.nodes {
					stop(id)
				}
			})
		})
	}
}

// clients put keys of their own and remember what they were told.
type clients struct {
	w *wires

	mu             sync.Mutex // guards what follows
	acked, refused []string
	unknown, reads int
}

func (c *clients) run(ctx context.Context, t *testing.T, p int) {
	rng := rand.New(rand.NewPCG(8, uint64(p)))
	for i := 0; ctx.Err() == nil; i++ {
		// Members are asked one after the other, the leader or not.
		n := c.w.nodes[1+rng.Uint64N(3)]
		key := fmt.Sprintf("p%d-%d", p, i)
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := n.Propose(call, put(key, "v"))
		cancel()
		c.mu.Lock()
		switch {
		case err == nil:
			c.acked = append(c.acked, key)
		case errors.Is(err, raftnode.ErrOutcomeUnknown):
			c.unknown++
		default:
			c.refused = append(c.refused, key)
		}
		c.mu.Unlock()
		if err == nil {
			c.read(ctx, t, c.w.nodes[1+rng.Uint64N(3)], key)
		}
		select {
		case <-time.After(time.Duration(1+rng.IntN(40)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// read asks any member for a key that was acknowledged.
func (c *clients) read(ctx context.Context, t *testing.T, n *raftnode.Node, key string) {
	call, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if n.ReadIndex(call) != nil {
		return
	}
	r := n.Store().NewReader()
	if _, ok, err := r.Get(key); !ok || err != nil {
		t.Errorf("member %x does not see %s, which was acknowledged: %v", n.Status().MemberID, key, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
}

func (c *clients) check(t *testing.T) {
	c.w.mu.Lock()
	c.w.lossy = 0
	c.w.mu.Unlock()
	var first *raftnode.Node
	for id := uint64(1); id <= 3; id++ {
		n := c.w.nodes[id]
		if err := n.ReadIndex(t.Context()); err != nil {
			t.Fatalf("member %d: %v", id, err)
		}
	}
	// What is committed and not applied everywhere yet follows within heartbeats.
	<-time.After(2 * time.Second)
	for id := uint64(1); id <= 3; id++ {
		n := c.w.nodes[id]
		r := n.Store().NewReader()
		for _, key := range c.acked {
			if _, ok, err := r.Get(key); !ok || err != nil {
				t.Errorf("member %d lost %s: %v", id, key, err)
			}
		}
		for _, key := range c.refused {
			if _, ok, err := r.Get(key); ok || err != nil {
				t.Errorf("member %d has %s, which was refused: %v", id, key, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if first == nil {
			first = n
			continue
		}
		a, b := first.Store().Applied(), n.Store().Applied()
		if a.Index != b.Index || a.Checksum != b.Checksum || dump(t, first) != dump(t, n) {
			t.Errorf("member %d is at index %d with checksum %x, member 1 at %d with %x",
				id, b.Index, b.Checksum, a.Index, a.Checksum)
		}
	}
	t.Logf("%d acknowledged, %d refused, %d unknown, %d reads, term %d",
		len(c.acked), len(c.refused), c.unknown, c.reads, first.Status().Term)
	if len(c.acked) < 2000 || len(c.refused) < 2000 || c.unknown < 5 || c.reads < 1000 || first.Status().Term < 10 {
		t.Error("too little happened")
	}
}
