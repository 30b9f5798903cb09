package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tenure-io/tenure/raftnode"
)

// crew is members of a test that talk over the loopback interface. Each has an address of its own for good: a listener
// that its runs are given copies of.
type crew struct {
	t       *testing.T
	first   []raftnode.Peer
	members map[string]*sailor
}

// sailor is one member, run after run.
type sailor struct {
	name string
	fs   *vfs.MemFS
	logs *observer.ObservedLogs
	o    raftnode.Options

	node  *raftnode.Node // of the present run
	power *powerFS
	stop  func() error
	ended <-chan struct{}
}

// crewPatience bounds the wait for what must happen.
const crewPatience = 60 * time.Second

func newCrew(t *testing.T, names ...string) *crew {
	t.Helper()
	c := &crew{t: t, members: map[string]*sailor{}}
	for _, name := range names {
		s := c.recruit(name)
		c.first = append(c.first, raftnode.Peer{Name: name, Address: s.o.Addresses.Peer})
	}
	for _, s := range c.members {
		s.o.InitialCluster = c.first
	}
	return c
}

// recruit makes a member with an empty disk and a free address.
func (c *crew) recruit(name string) *sailor {
	c.t.Helper()
	s := &sailor{name: name, fs: vfs.NewCrashableMem()}
	core, logs := observer.New(zap.InfoLevel)
	s.logs = logs
	s.o = raftnode.Options{
		FS: s.fs, Dir: "/data", Name: name, Tick: 10 * time.Millisecond, Logger: zap.New(core),
		Addresses: raftnode.Addresses{Peer: freeAddress(c.t), Client: "127.0.0.1:1", HTTP: name + ".invalid:7401"},
	}
	c.members[name] = s
	return s
}

// freeAddress returns an address of the loopback net that no other test uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host+":0")
	if err != nil {
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// open opens a member on its address; nil with an error.
func (s *sailor) open(ctx context.Context, t *testing.T) (*raftnode.Node, error) {
	t.Helper()
	o := s.o
	var err error
	o.PeerListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addresses.Peer)
	if err != nil {
		return nil, err
	}
	s.power = &powerFS{FS: s.fs}
	o.FS = s.power
	return raftnode.OpenContext(ctx, o)
}

// run opens a member and runs it.
func (s *sailor) run(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), crewPatience)
	defer cancel()
	n, err := s.open(ctx, t)
	if err != nil {
		return err
	}
	s.node = n
	life, end := context.WithCancel(context.Background())
	result, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		result <- n.Run(life)
	}()
	s.ended = ended
	s.stop = sync.OnceValue(func() error {
		end()
		return <-result
	})
	t.Cleanup(func() { _ = s.stop() })
	return nil
}

// sail runs all members of the names at once.
func (c *crew) sail(names ...string) {
	c.t.Helper()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if err := c.members[name].run(c.t); err != nil {
				c.t.Errorf("member %s: %v", name, err)
			}
		})
	}
	all.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// crash ends a member as a crash would: what was not synced is lost.
func (s *sailor) crash(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
		t.Errorf("member %s ended before it could crash: %v", s.name, s.stop())
	default:
	}
	s.fs = s.power.cut(s.fs)
	_ = s.stop() // It may have noticed that its disk fails.
}

// waitEnd waits until a member ends by itself and returns how.
func (s *sailor) waitEnd(t *testing.T) error {
	t.Helper()
	select {
	case <-s.ended:
		return s.stop()
	case <-time.After(crewPatience):
		t.Fatalf("member %s goes on", s.name)
		return nil
	}
}

func contextWithPatience(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), crewPatience)
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(crewPatience)
	defer late.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("%s: not within %v", what, crewPatience)
		}
	}
}

// leader waits until all running members name the same leader, by its record, and returns it.
func (c *crew) leader(names ...string) *sailor {
	c.t.Helper()
	var leader string
	await(c.t, "a leader", func() bool {
		leader = c.members[names[0]].node.Status().LeaderName
		for _, name := range names {
			if c.members[name].node.Status().LeaderName != leader {
				return false
			}
		}
		return leader != "" && c.members[leader].node.Status().Role == "leader"
	})
	return c.members[leader]
}

// put writes a key through whoever leads.
func (c *crew) put(key string, names ...string) {
	c.t.Helper()
	await(c.t, "put "+key, func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.leader(names...).node.Propose(ctx, put(key, "v"))
		return err == nil
	})
}

// has fails unless members show a key in a linearizable read.
func (c *crew) has(key string, names ...string) {
	c.t.Helper()
	for _, name := range names {
		n := c.members[name].node
		c.reads(name, n)
		r := n.Store().NewReader()
		if _, ok, err := r.Get(key); !ok || err != nil {
			c.t.Errorf("member %s does not see %s: %v", name, key, err)
		}
		if err := r.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

// reads waits until a member can prove a read. If it never can, the test tells what the members know of each other.
func (c *crew) reads(name string, n *raftnode.Node) {
	c.t.Helper()
	var last error
	proven := false
	defer func() {
		if proven {
			return
		}
		for other, s := range c.members {
			c.t.Logf("%s: %+v, alarms %v, members %+v", other, s.node.Status(), s.node.Alarms(), s.node.Members())
		}
		c.t.Logf("read index on %s: %v", name, last)
	}()
	await(c.t, "read index on "+name, func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		last = n.ReadIndex(ctx)
		return last == nil
	})
	proven = true
}

// Members begin a cluster together, know each other by their records, and come back to it with and without the list.
func TestMembersBeginACluster(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"a", "b", "c"}, {"a", "b", "c", "d", "e"}} {
		t.Run(fmt.Sprintf("%d members", len(names)), func(t *testing.T) {
			c := newCrew(t, names...)
			c.sail(names...)
			c.put("k", names...)
			c.has("k", names...)
			for _, name := range names {
				n := c.members[name].node
				await(t, "records", func() bool {
					known := 0
					for _, m := range n.Members() {
						if m.GetHttpAddress() == m.GetName()+".invalid:7401" && m.Voter && m.Reachable {
							known++
						}
					}
					s := n.Status()
					return known == len(names) && s.LeaderAddresses.HTTP == s.LeaderName+".invalid:7401" && len(s.Voters) == len(names)
				})
			}
			await(t, "a warning about addresses that lead nowhere", func() bool {
				return slices.ContainsFunc(names, func(name string) bool {
					return c.members[name].said("an address that the leader cannot connect to")
				})
			})
			cluster := c.members["a"].node.Status().ClusterID
			for _, name := range names {
				c.members[name].crash(t)
				c.members[name].o.InitialCluster = nil
			}
			c.sail(names...)
			c.has("k", names...)
			for _, name := range names {
				if got := c.members[name].node.Status().ClusterID; got != cluster {
					t.Errorf("cluster of %s: got %x, want %x", name, got, cluster)
				}
			}
		})
	}
}

// Whatever the moment at which members crash while they begin, restarts with the same flags begin one cluster.
func TestCrashesWhileTheClusterBegins(t *testing.T) {
	names := []string{"a", "b", "c"}
	rng := rand.New(rand.NewPCG(6, 6))
	crashed := 0
	for range 4 {
		c := newCrew(t, names...)
		var begun sync.WaitGroup
		for _, name := range names {
			// Each member crashes a few times, after some writes of its own, and tries again.
			after := []int{rng.IntN(12), rng.IntN(24), rng.IntN(48)}
			begun.Go(func() {
				s := c.members[name]
				for _, writes := range after {
					if s.crashWhileBeginning(t, writes) {
						return
					}
				}
			})
		}
		begun.Wait()
		for _, name := range names {
			if c.members[name].node == nil {
				crashed++
			} else {
				_ = c.members[name].stop()
			}
		}
		c.sail(names...)
		c.put("k", names...)
		c.has("k", names...)
		for _, name := range names {
			_ = c.members[name].stop()
		}
	}
	if crashed == 0 {
		t.Error("nobody crashed")
	}
}

// crashWhileBeginning opens a member over a disk that stands still after some writes, and takes what is durable by then.
// It reports whether the member began before.
func (s *sailor) crashWhileBeginning(t *testing.T, writes int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	still := &stillFS{FS: s.fs, left: writes}
	still.stands = func() {
		still.clone = s.fs.CrashClone(vfs.CrashCloneCfg{})
		cancel()
	}
	o := s.o
	o.FS = still
	var err error
	if o.PeerListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addresses.Peer); err != nil {
		t.Error(err)
		return false
	}
	timeout := time.AfterFunc(400*time.Millisecond, cancel)
	defer timeout.Stop()
	n, err := raftnode.OpenContext(ctx, o)
	if err == nil {
		err = n.Close()
	}
	still.mu.Lock()
	defer still.mu.Unlock()
	if still.clone != nil {
		s.fs = still.clone
		return false
	}
	return err == nil
}

// stillFS is a disk that stands still after some writes: what is durable is kept as of the first, and no other member may
// hear of what comes after. Once the databases are begun nothing fails, as Pebble leaks when it fails to open.
type stillFS struct {
	vfs.FS
	mu   sync.Mutex // guards what follows
	left int
	// started tells that a database was begun: nobody hears of what comes after.
	started bool
	stands  func()
	clone   *vfs.MemFS
}

var errStands = errors.New("the disk stands still")

func (f *stillFS) write(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = f.started || strings.HasPrefix(name, "/data/sm-") || strings.HasPrefix(name, "/data/log/")
	if f.left--; f.left >= 0 {
		return nil
	}
	if f.clone == nil {
		f.stands()
	}
	if f.started {
		return nil
	}
	return errStands
}

func (f *stillFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.write(name); err != nil {
		return nil, err
	}
	return f.FS.Create(name, c)
}

func (f *stillFS) Rename(from, to string) error {
	if err := f.write(to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *stillFS) OpenDir(name string) (vfs.File, error) {
	if err := f.write(name); err != nil {
		return nil, err
	}
	return f.FS.OpenDir(name)
}

func (f *stillFS) Unwrap() vfs.FS { return f.FS }

// A wiped disk is refused under the name that it had, and told what to do; so is one that comes too late.
func TestWipedMembersAreRefused(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, wiped := range names {
		t.Run(wiped, func(t *testing.T) {
			c := newCrew(t, names...)
			c.sail(names...)
			c.put("k", names...)
			s := c.members[wiped]
			s.crash(t)
			s.fs = vfs.NewCrashableMem()
			err := s.run(t)
			if !errors.Is(err, raftnode.ErrClusterBegan) {
				t.Fatalf("got %v, want ErrClusterBegan", err)
			}
			for _, want := range []string{"tenure member remove " + wiped, "--join", "--data-dir"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}
