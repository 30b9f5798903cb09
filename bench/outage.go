package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
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

// outageLoad is callers of one client of a library that put all the time.
type outageLoad struct {
	// since is when the outage began, and first tells when the first put that began after that succeeded.
	since atomic.Pointer[time.Time]
	first chan time.Duration // one slot
	fails atomic.Int64
	stop  func() error
}

// succeeded notes a put that has just succeeded.
func (l *outageLoad) succeeded(began time.Time) {
	if since := l.since.Load(); since != nil && began.After(*since) && l.since.CompareAndSwap(since, nil) {
		l.first <- time.Since(*since)
	}
}

// connectionOf returns the connection string of a cluster.
func connectionOf(members []*server) string {
	addresses := make([]string, len(members))
	for i, m := range members {
		addresses[i] = m.addresses.GRPC
	}
	return "tenure://" + strings.Join(addresses, ",")
}

// startGoLoad starts callers of the Go library in this process.
func startGoLoad(members []*server) (*outageLoad, error) {
	client, err := tenure.Open(connectionOf(members))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &outageLoad{first: make(chan time.Duration, 1)}
	var callers sync.WaitGroup
	for i := range outageCallers {
		callers.Go(func() { l.put(ctx, client, fmt.Sprint("bench/outage/", i)) })
	}
	l.stop = func() error {
		cancel()
		callers.Wait()
		return client.Close()
	}
	return l, nil
}

// put puts one key until ctx ends.
func (l *outageLoad) put(ctx context.Context, client *tenure.Client, key string) {
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := client.KV().Put(ctx, key, []byte("v")); err != nil {
			l.fails.Add(1)
			continue
		}
		l.succeeded(began)
	}
}

// startProgramLoad starts callers of another library: a program that is given the connection string and how many they are, and that prints a line for
// each put, with when it began in nanoseconds since the Unix epoch, or with why it has none. What it writes to standard error is shown.
func startProgramLoad(ctx context.Context, command []string, members []*server) (*outageLoad, error) {
	lines, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p, err := startTalking(ctx, out, os.Stderr, command[0], slices.Concat(command[1:], []string{connectionOf(members), strconv.Itoa(outageCallers)})...)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	l := &outageLoad{first: make(chan time.Duration, 1)}
	var reader sync.WaitGroup
	reader.Go(func() {
		for scanner := bufio.NewScanner(lines); scanner.Scan(); {
			if began, err := strconv.ParseInt(scanner.Text(), 10, 64); err == nil {
				l.succeeded(time.Unix(0, began))
			} else {
				l.fails.Add(1)
			}
		}
	})
	l.stop = func() error {
		err := p.kill() // It works until it is killed.
		reader.Wait()
		return errors.Join(err, lines.Close())
	}
	return l, nil
}

// measureOutages kills the leader again and again, and then stops it, while callers of each library put. Measured is the time until the first put
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
	if err = b.measureOutagesOf(ctx, members, "", func() (*outageLoad, error) { return startGoLoad(members) }); err != nil { //nolint:contextcheck // The client lives longer than any call.
		return err
	}
	for _, library := range b.libraries {
		err = b.measureOutagesOf(ctx, members, "-"+library.name, func() (*outageLoad, error) { return startProgramLoad(ctx, library.command, members) })
		if err != nil {
			return fmt.Errorf("%s: %w", library.name, err)
		}
	}
	return nil
}

// measureOutagesOf does so with the callers of one library.
func (b *bench) measureOutagesOf(ctx context.Context, members []*server, suffix string, start func() (*outageLoad, error)) (err error) {
	load, err := start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.stop()) }()
	for _, kind := range []struct {
		name       string
		begin, end func(m *server) error
	}{
		{"killed", (*server).kill, func(m *server) error { return m.again(ctx) }},
		{"silent", signaled(syscall.SIGSTOP), signaled(syscall.SIGCONT)},
	} {
		g := gap{workload: workOutage + "-" + kind.name + suffix}
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
