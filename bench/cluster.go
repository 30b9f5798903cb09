package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// startCluster starts as many members as are asked for, on empty directories, and waits until they take writes.
func startCluster(ctx context.Context, dir string, o options) ([]*server, error) {
	if o.members == 1 {
		s, err := startMember(ctx, dir, debugOnRequest, o)
		return []*server{s}, err
	}
	var peers, first []string
	for i := range o.members {
		peer, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		peers = append(peers, peer)
		first = append(first, memberName(i)+"="+peer)
	}
	// They begin together, so none has addresses before all were started.
	servers := make([]*server, o.members)
	errs := make([]error, o.members)
	done := make(chan int)
	for i, peer := range peers {
		go func() {
			servers[i], errs[i] = startPeer(ctx, dir, memberName(i), peer, strings.Join(first, ","), o)
			done <- i
		}()
	}
	for range peers {
		<-done
	}
	if err := errors.Join(errs...); err != nil {
		for _, s := range servers {
			if s != nil {
				err = errors.Join(err, s.stop())
			}
		}
		return nil, err
	}
	return servers, servers[0].awaitWrites(ctx)
}

func startPeer(ctx context.Context, dir, name, peer, first string, o options) (*server, error) {
	dataDir, err := os.MkdirTemp(dir, "member-")
	if err != nil {
		return nil, err
	}
	args := []string{
		"serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", peer,
		"--name", name, "--initial-cluster", first,
	}
	if o.has(workConsul) {
		args = append(args, "--consul-http", "127.0.0.1:0")
	}
	if o.profileDir != "" {
		args = append(args, "--debug-http", "127.0.0.1:0")
	}
	s, err := startServer(ctx, dataDir, o.binary, append(args, o.flagsOf(name)...)...)
	if err == nil {
		s.dial = o.dial
	}
	return s, err
}

// memberName is the name of a member of a cluster.
func memberName(i int) string { return fmt.Sprintf("m%d", i) }

// freeAddress returns an address that nobody listens on at this moment.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// leaderOf waits until one of the members leads, and returns it.
func leaderOf(ctx context.Context, members []*server) (*server, error) {
	if len(members) == 1 {
		return members[0], nil
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		for _, m := range members {
			if leads(ctx, m) {
				return m, nil
			}
		}
		if err := pause(ctx, startPause); err != nil {
			return nil, fmt.Errorf("no member leads: %w", err)
		}
	}
}

func leads(ctx context.Context, m *server) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conns, err := dialAll(m.addresses.GRPC, 1, m.dial...)
	if err != nil {
		return false
	}
	status, err := tenurev1.NewClusterServiceClient(conns.of(0)).GetStatus(ctx, &tenurev1.GetStatusRequest{})
	return errors.Join(err, conns.close()) == nil && status.GetLeader() != "" && status.GetLeader() == status.GetMember()
}
