package gossip_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/gossip"
)

// patience bounds each wait; machines are loaded.
const patience = time.Minute

// fast makes memberlist find failures in a second or two.
func fast(c *memberlist.Config) {
	c.ProbeInterval, c.ProbeTimeout, c.GossipInterval = 200*time.Millisecond, 150*time.Millisecond, 50*time.Millisecond
	c.SuspicionMult = 3
}

// process is a node that takes part until stop.
type process struct {
	*gossip.Pool
	stop func()
}

// start takes part, and joins others.
func start(t *testing.T, id byte, boot uint64, change func(*gossip.Options), others ...*process) *process {
	t.Helper()
	o := gossip.Options{
		ClusterID: [16]byte{9}, NodeID: [16]byte{id}, Name: fmt.Sprintf("Node%d", id), Role: gossip.Member, Version: "v", Boot: boot,
		Listen: "127.0.0.1:0", Logger: zap.NewNop(), Tune: fast,
		MustSeeMembers: func() bool { return len(others) > 0 },
		Contacts: func(context.Context) (out []gossip.Contact) {
			for _, p := range others {
				out = append(out, gossip.Contact{Address: p.Address(), Role: gossip.Member})
			}
			return out
		},
	}
	if change != nil {
		change(&o)
	}
	pool, err := gossip.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	stopped := false
	p := &process{Pool: pool, stop: func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}}
	t.Cleanup(p.stop)
	return p
}

// await waits until a process sees a node in a state.
func (p *process) await(t *testing.T, k gossip.Key, want gossip.State) {
	t.Helper()
	deadline := time.After(patience)
	for {
		changed := p.Changed()
		got := p.Node(k).State
		if got == want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("got %v of %s, want %v", got, k.Name, want)
		}
	}
}

func TestPool(t *testing.T) {
	a := start(t, 1, 1, nil)
	b := start(t, 2, 1, nil, a)
	c := start(t, 3, 1, nil, a)
	for _, p := range []*process{a, b, c} {
		for _, q := range []*process{a, b, c} {
			p.await(t, q.Self(), gossip.Alive)
		}
	}
	if got := b.Node(c.Self()); got.Name != "Node3" || got.Role != gossip.Member || got.Version != "v" || got.Address != c.Address() {
		t.Errorf("got %+v", got)
	}

	// One that goes without a word has failed; one that comes back, at another address, is alive at once.
	c.stop()
	a.await(t, c.Self(), gossip.Failed)
	b.await(t, c.Self(), gossip.Failed)
	if failed := a.Judge(t.Context(), []gossip.Asked{{Key: c.Self()}, {Key: b.Self()}}); !failed[0] || failed[1] {
		t.Errorf("got %v, want that only the third node failed", failed)
	}
	c = start(t, 3, 2, nil, a)
	a.await(t, c.Self(), gossip.Alive)
	b.await(t, c.Self(), gossip.Alive)

	// One that says so has left.
	if err := c.Leave(t.Context()); err != nil {
		t.Log(err)
	}
	c.stop()
	a.await(t, c.Self(), gossip.Left)
	b.await(t, c.Self(), gossip.Left)
}

// A node that starts is seen by all members at once, without rumours: they do not reach everybody.
func TestAllMembersHearOfAStart(t *testing.T) {
	silent := func(o *gossip.Options) {
		o.Tune = func(c *memberlist.Config) {
			c.GossipInterval, c.ProbeInterval, c.PushPullInterval = time.Hour, time.Hour, time.Hour
		}
	}
	a := start(t, 1, 1, silent)
	b := start(t, 2, 1, silent, a)
	c := start(t, 3, 1, silent, a, b)
	var rounds atomic.Int32
	agent := start(t, 4, 1, func(o *gossip.Options) {
		silent(o)
		o.Role = gossip.Agent
		members := o.Contacts
		o.Contacts = func(ctx context.Context) []gossip.Contact { rounds.Add(1); return members(ctx) }
	}, a, b, c)
	for _, p := range []*process{a, b, c} {
		p.await(t, agent.Self(), gossip.Alive)
	}
	if rounds.Load() > 1 {
		t.Error("not all of them heard of it in the first round")
	}
}

// TestOthersAreToldAnAddressThatTheyCanReach listens on all addresses of the machine.
func TestOthersAreToldAnAddressThatTheyCanReach(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "[::]:0"} {
		p := start(t, 1, 1, func(o *gossip.Options) { o.Listen, o.Reached = listen, "127.0.0.1" })
		host, port, err := net.SplitHostPort(p.Address())
		if err != nil || host != "127.0.0.1" || port == "0" {
			t.Errorf("at %s others are told %s, %v", listen, p.Address(), err)
		}
		start(t, 2, 1, nil, p)
		p.stop()
	}
	p := start(t, 1, 1, func(o *gossip.Options) { o.Listen = "[::]:0" })
	if host, _, err := net.SplitHostPort(p.Address()); err != nil || net.ParseIP(host).IsUnspecified() {
		t.Errorf("others are told %s, %v", p.Address(), err)
	}
}

// One that was killed, was started again and leaves is gone while others still take the killed start for alive: when they know the new start, and when
// it leaves before it has met anybody.
func TestLeaveAfterAKill(t *testing.T) {
	for name, known := range map[string]bool{"when all know the new start": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			patient := func(o *gossip.Options) {
				o.Tune = func(c *memberlist.Config) {
					fast(c)
					c.ProbeInterval, c.ProbeTimeout = patience, patience // Nobody is found dead in this test.
				}
			}
			a := start(t, 1, 1, patient)
			b := start(t, 2, 1, patient, a)
			killed := start(t, 3, 1, patient, a)
			a.await(t, killed.Self(), gossip.Alive)
			b.await(t, killed.Self(), gossip.Alive)
			before := a.Node(killed.Self()).Address
			killed.stop()
			c := start(t, 3, 2, patient, a)
			for _, p := range []*process{a, b} {
				for changed := p.Changed(); known && p.Node(c.Self()).Address == before; changed = p.Changed() {
					<-changed
				}
			}
			if err := c.Leave(t.Context()); err != nil {
				t.Log(err)
			}
			c.stop()
			a.await(t, c.Self(), gossip.Left)
			b.await(t, c.Self(), gossip.Left)
		})
	}
}

// A node that leaves twice, or after it has ended, does no harm.
func TestLeaveTwice(t *testing.T) {
	a := start(t, 1, 1, nil)
	b := start(t, 2, 1, nil, a)
	for range 2 {
		if err := b.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b.stop()
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	a.await(t, b.Self(), gossip.Left)
}

// keyFile returns a file with keys.
func keyFile(t *testing.T, keys ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	var text string
	for _, key := range keys {
		text += key + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pools that must not mix do not: a node that knows an address of another cluster, or has another key, sees nothing of it.
func TestPoolsDoNotMix(t *testing.T) {
	old, fresh := gossip.NewKey(), gossip.NewKey()
	file := keyFile(t, old)
	with := func(path string) func(*gossip.Options) { return func(o *gossip.Options) { o.KeyFile = path } }
	a := start(t, 1, 1, with(file))
	// Each tries three times or more, while its friend joins.
	stranger := start(t, 2, 1, func(o *gossip.Options) { o.KeyFile, o.ClusterID = file, [16]byte{8} }, a)
	noKey := start(t, 4, 1, nil, a)
	friend := start(t, 5, 1, with(keyFile(t, fresh, old)), a)
	// The friend encrypts with a key that the first one learns only now.
	if err := os.WriteFile(file, []byte(old+"\n"+fresh+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.RenewKeys(); err != nil {
		t.Fatal(err)
	}
	a.await(t, friend.Self(), gossip.Alive)
	friend.await(t, a.Self(), gossip.Alive)
	for _, p := range []*process{stranger, noKey} {
		if got := a.Node(p.Self()).State; got != gossip.Unknown {
			t.Errorf("got %v of %s, want that it is unknown", got, p.Self().Name)
		}
		if got := p.Node(a.Self()).State; got != gossip.Unknown {
			t.Errorf("%s sees the pool of others", p.Self().Name)
		}
	}

	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.RenewKeys(); err == nil {
		t.Error("a file without keys was taken")
	}
	if err := gossip.CheckKeys(file); err == nil {
		t.Error("a file without keys was taken")
	}
}

// TestTheNameOfThisMachineMayHaveCapitals takes part at an address of this machine by name.
func TestTheNameOfThisMachineMayHaveCapitals(t *testing.T) {
	p := start(t, 1, 1, func(o *gossip.Options) { o.Listen = "LocalHost:0" })
	if got := p.Address(); !strings.HasPrefix(got, "127.0.0.1:") {
		t.Errorf("takes part at %s", got)
	}
}
