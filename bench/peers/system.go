package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// The workloads. By the library means with what a program would use; without it, the plainest client there is: a generated stub for Tenure
// and etcd, and the library again for ZooKeeper, which has nothing below it.
const (
	workPut            = "put"              // puts of 256 bytes, 10 000 keys
	workPutByLibrary   = "put-library"      // the same by the library
	workLock           = "lock"             // acquire and release of a lock that nobody else wants
	workLockByLibrary  = "lock-library"     // the same by the library
	workHandover       = "handover"         // one lock goes round all callers
	workHandoverByLibs = "handover-library" // the same by the library
	workLife           = "life"             // start, start again, and nothing to do
)

func workNames() []string {
	return []string{workPut, workPutByLibrary, workLock, workLockByLibrary, workHandover, workHandoverByLibs, workLife}
}

const (
	keys       = 10_000
	valueBytes = 256
	// connectionsMax is how many connections the callers of a cell share.
	connectionsMax = 16
	// startWait is how long a cluster may take until it takes writes.
	startWait = 60 * time.Second
	// retryPause is the pause between two attempts to reach a cluster that starts.
	retryPause = 5 * time.Millisecond
)

// system is a coordination service.
type system interface {
	// name has its version, too.
	name() string
	// file is the program; empty if it is not one file.
	file() string
	// start starts a cluster on empty directories below dir, and returns when it takes writes.
	start(ctx context.Context, dir string, members int) (cluster, error)
}

// cluster is a system that runs.
type cluster interface {
	// processes are those of all members.
	processes() []*process
	// restart starts members that were all stopped, and returns when they take writes.
	restart(ctx context.Context) error
	// fill makes the keys that callers expect.
	fill() error
	// open makes ready what the callers of a cell need.
	open(ctx context.Context, work string, callers int) (*cell, error)
}

// cell is one workload with so many callers.
type cell struct {
	// step makes one operation.
	step func(ctx context.Context, caller int) error
	// close ends what open began.
	close func() error
}

// freeAddresses returns addresses on which nobody listens at this moment.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
	var all []string
	var listeners []net.Listener
	var errs []error
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			errs = append(errs, err)
			break
		}
		listeners = append(listeners, l)
		all = append(all, l.Addr().String())
	}
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return all, errors.Join(errs...)
}

// await tries until it succeeds, a process ends, or it has taken too long.
func await(ctx context.Context, processes []*process, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		once, done := context.WithTimeout(ctx, time.Second)
		err := try(once)
		done()
		if err == nil {
			return nil
		}
		for _, p := range processes {
			if p.hasEnded() {
				return fmt.Errorf("%s ended: %w\n%s", p.cmd.Path, p.err, p.logTail())
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("takes no writes after %v: %w", startWait, err)
		case <-time.After(retryPause):
		}
	}
}

// awaitListener returns when something listens on an address. The libraries wait for a second after a connection was refused, which is not to
// count.
func awaitListener(ctx context.Context, processes []*process, address string) error {
	return await(ctx, processes, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// keyOf is the key that a caller uses for its n-th operation.
func keyOf(n uint64) string { return fmt.Sprintf("bench/%05d", n*7919%keys) }

// counters number the operations of callers, each apart from the others.
type counters []counter

// counter numbers operations.
type counter struct {
	n atomic.Uint64
	_ [56]byte // No two share a line of a processor's cache.
}

func newCounter(callers int) counters { return make(counters, callers) }

// next numbers an operation of a caller; numbers of two callers lie far from each other.
func (c counters) next(caller int) uint64 { return c[caller].n.Add(1)*uint64(len(c)) + uint64(caller) }
