package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

const (
	// outages is how often the leader is killed, and how often it is stopped, and outageCallers how many callers of the library put meanwhile.
	outages       = 20
	outageCallers = 16
	// outageRest is the time under load before each.
	outageRest = 2 * time.Second
)

// outageLoad is callers of one client of the Go library that put all the time.
type outageLoad struct {
	client *tenure.Client
	cancel context.CancelFunc
	done   sync.WaitGroup
	// since is when the outage began, and first tells when the first put that began after that succeeded.
	since atomic.Pointer[time.Time]
	first chan time.Duration // one slot
	fails atomic.Int64
}

func startOutageLoad(members []*server) (*outageLoad, error) {
	addresses := make([]string, len(members))
	for i, m := range members {
		addresses[i] = m.addresses.GRPC
	}
	client, err := tenure.Open("tenure://" + strings.Join(addresses, ","))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &outageLoad{client: client, cancel: cancel, first: make(chan time.Duration, 1)}
	for i := range outageCallers {
		l.done.Go(func() { l.put(ctx, fmt.Sprint("bench/outage/", i)) })
	}
	return l, nil
}

// put puts one key until ctx ends.
func (l *outageLoad) put(ctx context.Context, key string) {
	for ctx.Err() == nil {
		since, began := l.since.Load(), time.Now()
		if _, err := l.client.KV().Put(ctx, key, []byte("v")); err != nil {
			l.fails.Add(1)
			continue
		}
		if since != nil && began.After(*since) && l.since.CompareAndSwap(since, nil) {
			l.first <- time.Since(*since)
		}
	}
}

func (l *outageLoad) stop() error {
	l.cancel()
	l.done.Wait()
	return l.client.Close()
}

// measureOutages kills the leader again and again, and then stops it, while callers of the Go library put. Measured is the time until the first put
// succeeds that began after that.
func (b *bench) measureOutages(ctx context.Context) (err error) {
	members, err := startCluster(ctx, b.dir, b.options)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range members {
			err = errors.Join(err, m.stop())
		}
	}()
	load, err := startOutageLoad(members) //nolint:contextcheck // The clients live longer than any call.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.stop()) }() //nolint:contextcheck // Close has none.
	for _, kind := range []struct {
		name       string
		begin, end func(m *server) error
	}{
		{"killed", (*server).kill, func(m *server) error { return m.again(ctx) }},
		{"silent", signaled(syscall.SIGSTOP), signaled(syscall.SIGCONT)},
	} {
		g := gap{workload: workOutage + "-" + kind.name}
		for range outages {
			took, err := b.outage(ctx, load, members, kind.begin, kind.end)
			if err != nil {
				return err
			}
			g.times = append(g.times, took)
			b.say("%s after %v, %d errors so far\n", g.workload, took.Round(time.Millisecond), load.fails.Load())
		}
		b.results.gaps = append(b.results.gaps, g)
	}
	return nil
}

// signaled sends a signal to a member.
func signaled(sig syscall.Signal) func(m *server) error {
	return func(m *server) error { return m.cmd.Process.Signal(sig) }
}

// outage lets the leader be away once, and returns how long that lasted for callers.
func (b *bench) outage(ctx context.Context, load *outageLoad, members []*server, begin, end func(*server) error) (time.Duration, error) {
	if err := pause(ctx, outageRest); err != nil {
		return 0, err
	}
	leader, err := leaderOf(ctx, members)
	if err != nil {
		return 0, err
	}
	if err = begin(leader); err != nil {
		return 0, err
	}
	since := time.Now()
	load.since.Store(&since)
	var took time.Duration
	select {
	case took = <-load.first:
	case <-time.After(startWait):
		err = errors.New("no put succeeds")
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err = errors.Join(err, end(leader)); err != nil {
		return 0, err
	}
	return took, leader.awaitWrites(ctx)
}
