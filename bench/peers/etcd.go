package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	etcdserverpb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"go.uber.org/zap"
)

// etcdSystem is etcd.
type etcdSystem struct {
	program string
	version string
}

func (s *etcdSystem) name() string { return s.version }

func (s *etcdSystem) file() string { return s.program }

func (s *etcdSystem) start(ctx context.Context, dir string, members int) (cluster, error) {
	addresses, err := freeAddresses(ctx, 2*members)
	if err != nil {
		return nil, err
	}
	first := make([]string, members)
	for i := range members {
		first[i] = fmt.Sprintf("m%d=http://%s", i, addresses[members+i])
	}
	c := &etcdCluster{addresses: addresses[:members]}
	for i := range members {
		client, peer := "http://"+addresses[i], "http://"+addresses[members+i]
		p, startErr := startProcess(ctx, logOf(dir, i), s.program, "--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(dir, fmt.Sprintf("m%d", i)),
			"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(first, ","), "--initial-cluster-state", "new", "--log-level", "error", "--quota-backend-bytes", "8589934592")
		if startErr != nil {
			return nil, errors.Join(startErr, stopAll(c.members))
		}
		c.members = append(c.members, p)
	}
	if err = c.awaitWrites(ctx); err != nil {
		return nil, errors.Join(err, stopAll(c.members))
	}
	return c, nil
}

// etcdCluster is a cluster of etcd.
type etcdCluster struct {
	members   []*process
	addresses []string
}

// awaitWrites returns when every member has taken a write.
func (c *etcdCluster) awaitWrites(ctx context.Context) error {
	for i := range c.members {
		if err := awaitListener(ctx, c.members, c.addresses[i]); err != nil {
			return err
		}
		client, err := c.dial(i)
		if err != nil {
			return err
		}
		err = await(ctx, c.members, func(ctx context.Context) error {
			_, failed := client.Put(ctx, "bench/started", "")
			return failed
		})
		if err = errors.Join(err, client.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (c *etcdCluster) restart(ctx context.Context) (err error) {
	if c.members, err = again(ctx, c.members); err != nil {
		return err
	}
	return c.awaitWrites(ctx)
}

func (*etcdCluster) fill() error { return nil }

func (c *etcdCluster) processes() []*process { return c.members }

// dial connects to one member, or to all.
func (c *etcdCluster) dial(members ...int) (*clientv3.Client, error) {
	config := clientv3.Config{Logger: zap.NewNop()}
	for _, i := range members {
		config.Endpoints = append(config.Endpoints, c.addresses[i%len(c.addresses)])
	}
	return clientv3.New(config)
}

func (c *etcdCluster) open(ctx context.Context, work string, callers int) (*cell, error) {
	switch work {
	case workPutByLibrary, workLockByLibrary, workHandoverByLibs:
		return c.openLibrary(ctx, work, callers)
	}
	clients := make([]*clientv3.Client, 0, connectionsMax)
	closeAll := func() error {
		var errs []error
		for _, client := range clients {
			errs = append(errs, client.Close())
		}
		return errors.Join(errs...)
	}
	for i := range min(callers, connectionsMax) {
		client, err := c.dial(i)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		clients = append(clients, client)
	}
	if work == workPut {
		counter, value := newCounter(callers), make([]byte, valueBytes)
		return &cell{close: closeAll, step: func(ctx context.Context, caller int) error {
			stub := etcdserverpb.NewKVClient(clients[caller%len(clients)].ActiveConnection())
			_, err := stub.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(keyOf(counter.next(caller))), Value: value})
			return err
		}}, nil
	}
	leases := make([]int64, callers) // The service names a waiter by its lease.
	for i := range leases {
		granted, err := clients[i%len(clients)].Grant(ctx, int64(sessionTTL.Seconds()))
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		leases[i] = int64(granted.ID)
	}
	return &cell{
		step: func(ctx context.Context, caller int) error {
			name := "bench/handover"
			if work == workLock {
				name = fmt.Sprintf("bench/lock/%d", caller)
			}
			stub := v3lockpb.NewLockClient(clients[caller%len(clients)].ActiveConnection())
			locked, err := stub.Lock(ctx, &v3lockpb.LockRequest{Name: []byte(name), Lease: leases[caller]})
			if err != nil {
				return err
			}
			_, err = stub.Unlock(ctx, &v3lockpb.UnlockRequest{Key: locked.GetKey()})
			return err
		},
		close: func() error {
			var errs []error
			for i, lease := range leases {
				_, err := clients[i%len(clients)].Revoke(context.WithoutCancel(ctx), clientv3.LeaseID(lease))
				errs = append(errs, err)
			}
			return errors.Join(append(errs, closeAll())...)
		},
	}, nil
}

// openLibrary makes one client, which all callers share. A mutex of the library belongs to a session, so each caller has one where they want
// the same lock.
func (c *etcdCluster) openLibrary(ctx context.Context, work string, callers int) (*cell, error) {
	all := make([]int, len(c.addresses))
	for i := range all {
		all[i] = i
	}
	client, err := c.dial(all...)
	if err != nil {
		return nil, err
	}
	if work == workPutByLibrary {
		counter, value := newCounter(callers), string(make([]byte, valueBytes))
		return &cell{close: client.Close, step: func(ctx context.Context, caller int) error {
			_, failed := client.Put(ctx, keyOf(counter.next(caller)), value)
			return failed
		}}, nil
	}
	sessions := 1
	if work == workHandoverByLibs {
		sessions = callers
	}
	mutexes := make([]*concurrency.Mutex, callers)
	var session *concurrency.Session
	for i := range callers {
		if i < sessions {
			if session, err = concurrency.NewSession(client, concurrency.WithContext(ctx)); err != nil {
				return nil, errors.Join(err, client.Close())
			}
		}
		name := "bench/library-handover"
		if work == workLockByLibrary {
			name = fmt.Sprintf("bench/library-lock/%d", i)
		}
		mutexes[i] = concurrency.NewMutex(session, name)
	}
	return &cell{close: client.Close, step: func(ctx context.Context, caller int) error {
		if failed := mutexes[caller].Lock(ctx); failed != nil {
			return failed
		}
		return mutexes[caller].Unlock(ctx)
	}}, nil
}
