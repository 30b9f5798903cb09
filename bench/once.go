package main

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"
)

// What exactly-once costs: clients put without an identity of the request, with the request ids of one session, as the libraries do, and with
// idempotency keys.
const (
	oncePlain   = workOnce + "-plain"
	onceRequest = workOnce + "-request-id"
	onceKey     = workOnce + "-key"
)

var onceKinds = []string{oncePlain, onceRequest, onceKey}

// oncePutsBefore is how many puts each kind has made before its first turn: as many idempotency keys as are remembered, so that each further
// one has another forgotten.
const oncePutsBefore = 100_000

// onceMembers are where the puts of one kind go. What they leave to do, such as merging files, costs no other kind.
type onceMembers struct {
	kind    string
	members []*server
	leader  *server
}

// startOnce starts the members of a kind, and fills their keys. What it returns with an error must be stopped, too.
func startOnce(ctx context.Context, kind, dir string, o options) (m *onceMembers, err error) {
	m = &onceMembers{kind: kind}
	if m.members, err = startCluster(ctx, dir, o); err != nil {
		return m, err
	}
	if m.leader, err = leaderOf(ctx, m.members); err != nil {
		return m, err
	}
	if err = fillKeys(ctx, m.leader, o); err != nil {
		return m, err
	}
	return m, m.putBefore(ctx, o)
}

// putBefore makes the puts that are not measured.
func (m *onceMembers) putBefore(ctx context.Context, o options) (err error) {
	calls, err := newOnceCalls(ctx, m, manyClients, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, calls.conns.close()) }()
	group, ctx := errgroup.WithContext(ctx)
	for client := range manyClients {
		group.Go(func() error {
			for range oncePutsBefore/manyClients + 1 {
				if putErr := calls.put(ctx, client); putErr != nil {
					return putErr
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// onceCalls make the puts of one kind by a number of clients.
type onceCalls struct {
	kind    string
	conns   connections
	options options
	value   []byte
	session string
	secret  []byte

	mu       sync.Mutex // guards what follows
	sequence uint64
	underway []uint64 // sequences that are under way, by client; 0: none
}

// newOnceCalls opens connections, and the session whose requests are numbered.
func newOnceCalls(ctx context.Context, m *onceMembers, clients int, o options) (*onceCalls, error) {
	conns, err := dialAll(m.leader.addresses.GRPC, min(clients, o.conns), m.leader.dial...)
	if err != nil {
		return nil, err
	}
	response, err := tenurev1.NewSessionServiceClient(conns.of(0)).CreateSession(ctx, &tenurev1.CreateSessionRequest{
		Ttl: durationpb.New(sessionTTL), WantSecret: true,
	})
	if err != nil {
		return nil, errors.Join(err, conns.close())
	}
	return &onceCalls{
		kind: m.kind, conns: conns, options: o, value: randomValue(o.valueBytes),
		session: response.GetSessionId(), secret: response.GetSecret(), underway: make([]uint64, clients),
	}, nil
}

// put makes a client's next put.
func (o *onceCalls) put(ctx context.Context, client int) error {
	defer o.done(client)
	_, err := tenurev1.NewKVServiceClient(o.conns.of(client)).Put(ctx, o.request(client))
	return err
}

// request returns a client's next put.
func (o *onceCalls) request(client int) *tenurev1.PutRequest {
	return &tenurev1.PutRequest{
		Key: anyKey(o.options), Content: &tenurev1.PutRequest_Value{Value: o.value}, Options: o.identity(client),
	}
}

// identity returns the options of a client's next put.
func (o *onceCalls) identity(client int) *tenurev1.CallOptions {
	switch o.kind {
	case onceRequest:
		sequence, below := o.number(client)
		return &tenurev1.CallOptions{
			SessionSecret: o.secret, Epoch: 1,
			RequestId: &tenurev1.RequestID{SessionId: o.session, Sequence: sequence, DoneBelow: below},
		}
	case onceKey:
		key := make([]byte, 16)
		_, _ = cryptorand.Read(key) // It never fails.
		return &tenurev1.CallOptions{IdempotencyKey: key}
	default:
		return nil
	}
}

// number returns the number of a client's next request, and the one below which all are done. The client's last one is.
func (o *onceCalls) number(client int) (sequence, below uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sequence++
	o.underway[client] = o.sequence
	below = o.sequence
	for _, other := range o.underway {
		if other != 0 {
			below = min(below, other)
		}
	}
	return o.sequence, below
}

// done says that a client's request was answered.
func (o *onceCalls) done(client int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.underway[client] = 0
}

// measureOnce measures the kinds of puts in turn with each number of clients.
func (b *bench) measureOnce(ctx context.Context) (err error) {
	if !b.has(workOnce) {
		return nil
	}
	var kinds []*onceMembers
	defer func() {
		for _, m := range kinds {
			for _, s := range m.members {
				if s != nil {
					err = errors.Join(err, s.stop())
				}
			}
		}
	}()
	for _, kind := range onceKinds {
		m, startErr := startOnce(ctx, kind, b.dir, b.options)
		kinds = append(kinds, m)
		if startErr != nil {
			return fmt.Errorf("%s: %w", kind, startErr)
		}
	}
	for round := range b.rounds {
		for _, clients := range b.clients {
			if err = b.measureOnceWith(ctx, kinds, round, clients); err != nil {
				return fmt.Errorf("%s with %d clients: %w", workOnce, clients, err)
			}
		}
	}
	return nil
}

// measureOnceWith measures the kinds of puts in turn with one number of clients.
func (b *bench) measureOnceWith(ctx context.Context, kinds []*onceMembers, round, clients int) (err error) {
	calls, servers := map[string]*onceCalls{}, map[string][]*server{}
	defer func() {
		for _, c := range calls {
			err = errors.Join(err, c.conns.close())
		}
	}()
	for _, m := range kinds {
		c, openErr := newOnceCalls(ctx, m, clients, b.options)
		if openErr != nil {
			return openErr
		}
		calls[m.kind], servers[m.kind] = c, m.members
	}
	var now atomic.Pointer[onceCalls]
	now.Store(calls[oncePlain])
	return b.measureTurns(ctx, turns{
		kinds:   onceKinds,
		servers: func(kind string) []*server { return servers[kind] },
		choose: func(_ context.Context, kind string) error {
			now.Store(calls[kind])
			return nil
		},
		step: func(ctx context.Context, client int, r *recorder) error {
			c := now.Load()
			return r.time(func() error { return c.put(ctx, client) })
		},
	}, round, clients)
}
