package rig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Cluster is members that began a cluster together, and those that were added later. Its methods are for the test's
// goroutine.
type Cluster struct {
	t       testing.TB
	binary  string
	host    string       // of the listeners; the last number is the member's
	ports   map[int]bool // that members have, or had
	flags   []string
	proxied bool
	secured string // What Member.secured is.
	token   string // What Member.token is.

	// Members are all members ever started, in order.
	Members []*Member
	// Links are what the others reach each of Members through, where the cluster was started so; nil otherwise.
	Links []*Proxy
}

// StartCluster starts so many members with the names a, b, c and so on, and waits until all of them serve. The flags are
// for each of them. Addresses stay the same over restarts.
func StartCluster(ctx context.Context, t testing.TB, binary string, members int, flags ...string) *Cluster {
	t.Helper()
	return StartClusterEach(ctx, t, binary, members, func(int) []string { return nil }, flags...)
}

// StartClusterEach is StartCluster with more flags for each member, which each is asked for by the member's number, from 0.
func StartClusterEach(
	ctx context.Context, t testing.TB, binary string, members int, each func(member int) []string, flags ...string,
) *Cluster {
	t.Helper()
	return start(ctx, members, each, &Cluster{t: t, binary: binary, host: loopbackNet(), ports: map[int]bool{}, flags: flags})
}

// StartLinkedCluster is StartCluster with a proxy before each member's peer address, to do faults to what the others send
// to it.
func StartLinkedCluster(ctx context.Context, t testing.TB, binary string, members int, flags ...string) *Cluster {
	t.Helper()
	return start(ctx, members, func(int) []string { return nil },
		&Cluster{t: t, binary: binary, host: loopbackNet(), ports: map[int]bool{}, flags: flags, proxied: true})
}

// StartSecuredCluster is StartClusterEach with TLS for clients, who need a certificate. The folder has the files of members and clients, as
// Authority.Write makes them. Between members there is TLS only if SecuredPeers is among the flags of each.
func StartSecuredCluster(
	ctx context.Context, t testing.TB, binary string, members int, dir string, each func(member int) []string,
) *Cluster {
	t.Helper()
	flags := []string{
		"--cert-file", filepath.Join(dir, "member.crt"), "--key-file", filepath.Join(dir, "member.key"),
		"--client-ca-file", filepath.Join(dir, "ca.crt"), "--client-auth", "require",
	}
	return start(ctx, members, each,
		&Cluster{t: t, binary: binary, host: loopbackNet(), ports: map[int]bool{}, flags: flags, secured: dir})
}

// StartClusterFrom starts a cluster whose first member has the directory that makeDir makes, and which the other members join
// from empty ones. It waits until all serve; they may not all vote yet.
func StartClusterFrom(
	ctx context.Context, t testing.TB, binary string, members int, makeDir func(dir string), flags ...string,
) *Cluster {
	t.Helper()
	c := &Cluster{t: t, binary: binary, host: loopbackNet(), ports: map[int]bool{}, flags: flags}
	first := c.place(ctx)
	makeDir(first.Dir())
	first.Restart(ctx)
	for range members - 1 {
		c.Join(ctx)
	}
	return c
}

func start(ctx context.Context, members int, each func(member int) []string, c *Cluster) *Cluster {
	c.t.Helper()
	var first []string
	for i := range members {
		m := c.place(ctx)
		m.args = append(m.args, each(i)...)
		peer := m.Addresses.Peer
		if c.proxied {
			peer = c.Links[i].Address()
		}
		first = append(first, m.name+"="+peer)
	}
	for _, m := range c.Members {
		m.args = append(m.args, "--initial-cluster", strings.Join(first, ","))
		m.Launch(ctx)
	}
	for _, m := range c.Members {
		m.Await(ctx)
	}
	return c
}

// loopbackNet returns the first three numbers of addresses that no other test has. Where only 127.0.0.1 is a loopback
// address, it is that one.
func loopbackNet() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	return fmt.Sprintf("127.%d.%d", 1+rand.IntN(254), rand.IntN(256)) //nolint:gosec // Addresses need no secret.
}

// place gives the next member a name and addresses.
func (c *Cluster) place(ctx context.Context) *Member {
	c.t.Helper()
	i := len(c.Members)
	name := string(rune('a' + i))
	host := "127.0.0.1"
	if c.host != "" {
		host = fmt.Sprintf("%s.%d", c.host, i+1)
	}
	at := Addresses{GRPC: c.free(ctx, host), HTTP: c.free(ctx, host), Peer: c.free(ctx, host)}
	listen := []string{"--listen", at.GRPC, "--http", at.HTTP, "--peer", at.Peer}
	if c.proxied {
		listen = append(listen, "--advertise-peer", c.link(ctx, at.Peer).Address())
	}
	m := newMember(c.t, c.binary, name, listen,
		append([]string{"--name", name}, c.flags...))
	m.Addresses, m.secured, m.token = at, c.secured, c.token
	c.Members = append(c.Members, m)
	return m
}

// link puts a proxy before the peer address of the next member.
func (c *Cluster) link(ctx context.Context, peer string) *Proxy {
	c.t.Helper()
	p, err := NewProxy(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	p.SetTarget(peer)
	c.Links = append(c.Links, p)
	c.t.Cleanup(p.Close)
	return p
}

// The ports of members. They are below those that kernels give to whoever asks for any, so that nobody takes the port of a
// member by accident before it listens, or while it is down.
const (
	portMin = 10_000
	portMax = 29_999
)

// free returns an address that nobody listens on, with a port that no other member of the cluster has.
func (c *Cluster) free(ctx context.Context, host string) string {
	c.t.Helper()
	var err error
	for range 100 {
		port := portMin + rand.IntN(portMax-portMin+1) //nolint:gosec // Addresses need no secret.
		if c.ports[port] {
			continue
		}
		var l net.Listener
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue // Somebody has it.
		}
		if err = l.Close(); err != nil {
			c.t.Fatal(err)
		}
		c.ports[port] = true
		return l.Addr().String()
	}
	c.t.Fatalf("find a free port: %v", err)
	return ""
}

// Prepare returns the next member, which has a name and addresses and is not started.
func (c *Cluster) Prepare(ctx context.Context, flags ...string) *Member {
	c.t.Helper()
	m := c.place(ctx)
	m.args = append(m.args, flags...)
	return m
}

// Running returns the members whose process has been started and not ended by the test.
func (c *Cluster) Running() []*Member {
	var running []*Member
	for _, m := range c.Members {
		if m.cmd != nil {
			running = append(running, m)
		}
	}
	return running
}

// Endpoints returns the client addresses of all members.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Addresses.GRPC)
	}
	return all
}

// Member returns the member with a name.
func (c *Cluster) Member(name string) *Member {
	c.t.Helper()
	for _, m := range c.Members {
		if m.name == name {
			return m
		}
	}
	c.t.Fatalf("no member %q", name)
	return nil
}

// Leader waits until more than half of the running members name the same running member as their leader, and returns it.
func (c *Cluster) Leader(ctx context.Context) *Member {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		votes := map[string]int{}
		for _, m := range c.Running() {
			if s, err := m.Status(ctx); err == nil {
				votes[s.GetLeader()]++
			}
		}
		for _, m := range c.Running() {
			if votes[m.name] > len(c.Running())/2 {
				return m
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("no leader: members name %v", votes)
		}
	}
}

// statusTimeout bounds one question to a member that may be dead or paused.
const statusTimeout = 2 * time.Second

// Status asks the member how it sees the cluster. It answers without a leader too.
func (m *Member) Status(ctx context.Context) (*tenurev1.GetStatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	return tenurev1.NewClusterServiceClient(conn).GetStatus(ctx, &tenurev1.GetStatusRequest{})
}
