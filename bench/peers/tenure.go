package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

// sessionTTL outlives every cell, so that sessions of stubs need no renewals.
const sessionTTL = 10 * time.Minute

// addressesFile is where a member writes on which addresses it listens, in its data directory.
const addressesFile = "addresses.json"

// tenureSystem is Tenure.
type tenureSystem struct {
	program string
	version string
}

func (s *tenureSystem) name() string { return s.version }

func (s *tenureSystem) file() string { return s.program }

func (s *tenureSystem) start(ctx context.Context, dir string, members int) (cluster, error) {
	peers, err := freeAddresses(ctx, members)
	if err != nil {
		return nil, err
	}
	first := make([]string, members)
	for i, peer := range peers {
		first[i] = fmt.Sprintf("m%d=%s", i, peer)
	}
	c := &tenureCluster{}
	for i, peer := range peers {
		data := filepath.Join(dir, fmt.Sprintf("m%d", i))
		args := []string{"serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", peer, "--name", fmt.Sprintf("m%d", i)}
		if members > 1 {
			args = append(args, "--initial-cluster", strings.Join(first, ","))
		}
		p, startErr := startProcess(ctx, logOf(dir, i), s.program, args...)
		if startErr != nil {
			return nil, errors.Join(startErr, stopAll(c.members))
		}
		c.members, c.data = append(c.members, p), append(c.data, data)
	}
	if err = c.awaitWrites(ctx); err != nil {
		return nil, errors.Join(err, stopAll(c.members))
	}
	return c, nil
}

// tenureCluster is a cluster of Tenure.
type tenureCluster struct {
	members   []*process
	data      []string // their directories
	addresses []string
}

func (c *tenureCluster) restart(ctx context.Context) (err error) {
	for _, data := range c.data {
		if err = os.Remove(filepath.Join(data, addressesFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if c.members, err = again(ctx, c.members); err != nil {
		return err
	}
	return c.awaitWrites(ctx)
}

func (*tenureCluster) fill() error { return nil }

func (c *tenureCluster) processes() []*process { return c.members }

// readAddress adds the address of a member, which it writes into its data directory.
func (c *tenureCluster) readAddress(data string) error {
	text, err := os.ReadFile(filepath.Join(data, addressesFile))
	if err != nil {
		return err
	}
	var of struct {
		GRPC string `json:"grpc"`
	}
	if err = json.Unmarshal(text, &of); err != nil {
		return err
	}
	if of.GRPC == "" {
		return errors.New("it does not listen yet")
	}
	c.addresses = append(c.addresses, of.GRPC)
	return nil
}

// awaitWrites returns when every member has taken a write.
func (c *tenureCluster) awaitWrites(ctx context.Context) error {
	c.addresses = nil
	for _, data := range c.data {
		if err := await(ctx, c.members, func(context.Context) error { return c.readAddress(data) }); err != nil {
			return err
		}
	}
	stubs, err := c.dial(len(c.addresses))
	if err != nil {
		return err
	}
	for _, stub := range stubs {
		err = errors.Join(err, await(ctx, c.members, func(ctx context.Context) error {
			_, failed := tenurev1.NewKVServiceClient(stub).Put(ctx, &tenurev1.PutRequest{Key: "bench/started"})
			return failed
		}))
	}
	return errors.Join(err, stubs.close())
}

// stubs are connections to all members in turn.
type stubs []*grpc.ClientConn

// dial connects to the members.
func (c *tenureCluster) dial(n int) (stubs, error) {
	var all stubs
	for i := range n {
		conn, err := grpc.NewClient("passthrough:///"+c.addresses[i%len(c.addresses)], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, conn)
	}
	return all, nil
}

func (s stubs) of(caller int) *grpc.ClientConn { return s[caller%len(s)] }

func (s stubs) close() error {
	var errs []error
	for _, conn := range s {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

func (c *tenureCluster) open(ctx context.Context, work string, callers int) (*cell, error) {
	switch work {
	case workPutByLibrary, workLockByLibrary, workHandoverByLibs:
		return c.openLibrary(ctx, work, callers)
	}
	conns, err := c.dial(min(callers, connectionsMax))
	if err != nil {
		return nil, err
	}
	if work == workPut {
		counter, value := newCounter(callers), make([]byte, valueBytes)
		return &cell{close: conns.close, step: func(ctx context.Context, caller int) error {
			_, failed := tenurev1.NewKVServiceClient(conns.of(caller)).Put(ctx, &tenurev1.PutRequest{Key: keyOf(counter.next(caller)), Content: &tenurev1.PutRequest_Value{Value: value}})
			return failed
		}}, nil
	}
	sessions := make([]string, callers)
	var group errgroup.Group
	for i := range sessions {
		group.Go(func() error {
			opened, failed := tenurev1.NewSessionServiceClient(conns.of(i)).CreateSession(ctx, &tenurev1.CreateSessionRequest{
				Ttl: durationpb.New(sessionTTL), LockDelay: durationpb.New(0),
			})
			sessions[i] = opened.GetSessionId()
			return failed
		})
	}
	if err = group.Wait(); err != nil {
		return nil, errors.Join(err, conns.close())
	}
	return &cell{
		step: func(ctx context.Context, caller int) error {
			key := "bench/handover"
			if work == workLock {
				key = fmt.Sprintf("bench/lock/%d", caller)
			}
			return takeTurn(ctx, tenurev1.NewLockServiceClient(conns.of(caller)), key, sessions[caller])
		},
		close: func() error {
			var ends errgroup.Group
			for i, id := range sessions {
				ends.Go(func() error {
					_, failed := tenurev1.NewSessionServiceClient(conns.of(i)).DestroySession(context.WithoutCancel(ctx),
						&tenurev1.DestroySessionRequest{SessionId: id, Clean: true})
					return failed
				})
			}
			return errors.Join(ends.Wait(), conns.close())
		},
	}, nil
}

// takeTurn queues, waits for the lock, and gives it back.
func takeTurn(ctx context.Context, locks tenurev1.LockServiceClient, key, session string) error {
	stream, err := locks.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: session})
	if err != nil {
		return err
	}
	for granted := false; !granted; {
		step, failed := stream.Recv()
		if failed != nil {
			return failed
		}
		if step.GetRejected() != nil {
			return fmt.Errorf("the wait for %q ended: %v", key, step.GetRejected())
		}
		granted = step.GetGranted() != nil
	}
	released, err := locks.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: key, SessionId: session})
	if err == nil && !released.GetReleased() {
		return fmt.Errorf("%q was not held", key)
	}
	return err
}

// openLibrary makes one client with one session, which all callers share, as the callers of a process do.
func (c *tenureCluster) openLibrary(ctx context.Context, work string, callers int) (*cell, error) {
	client, err := tenure.Open(strings.Join(c.addresses, ",")) //nolint:contextcheck // It lives longer than the call.
	if err != nil {
		return nil, err
	}
	session, err := client.OpenSession(ctx, tenure.WithLockDelay(0))
	if err != nil {
		return nil, errors.Join(err, client.Close()) //nolint:contextcheck // Close has none.
	}
	counter, value := newCounter(callers), make([]byte, valueBytes)
	return &cell{close: client.Close, step: func(ctx context.Context, caller int) error {
		key := "bench/library-handover"
		switch work {
		case workPutByLibrary:
			_, failed := session.KV().Put(ctx, keyOf(counter.next(caller)), value)
			return failed
		case workLockByLibrary:
			key = fmt.Sprintf("bench/library-lock/%d", caller)
		}
		held, failed := session.Lock(key).Acquire(ctx)
		if failed != nil {
			return failed
		}
		return held.Release(ctx)
	}}, nil
}
