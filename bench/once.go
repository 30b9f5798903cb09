package main

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
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

// onceCalls make the options of puts.
type onceCalls struct {
	kind    atomic.Pointer[string]
	session string
	secret  []byte

	mu       sync.Mutex // guards what follows
	sequence uint64
	underway []uint64 // sequences that are under way, by client; 0: none
}

// newOnceCalls opens the session whose requests are numbered.
func newOnceCalls(ctx context.Context, conns connections, clients int) (*onceCalls, error) {
	response, err := tenurev1.NewSessionServiceClient(conns.of(0)).CreateSession(ctx, &tenurev1.CreateSessionRequest{
		Ttl: durationpb.New(sessionTTL), WantSecret: true,
	})
	if err != nil {
		return nil, err
	}
	o := &onceCalls{session: response.GetSessionId(), secret: response.GetSecret(), underway: make([]uint64, clients)}
	o.kind.Store(&onceKinds[0])
	return o, nil
}

// options returns the options of a client's next put.
func (o *onceCalls) options(client int) *tenurev1.CallOptions {
	switch *o.kind.Load() {
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
	members, err := startCluster(ctx, b.dir, b.options)
	defer func() {
		for _, m := range members {
			err = errors.Join(err, m.stop())
		}
	}()
	if err != nil {
		return err
	}
	leader, err := leaderOf(ctx, members)
	if err == nil {
		err = fillKeys(ctx, leader, b.options)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", workOnce, err)
	}
	for round := range b.rounds {
		for _, clients := range b.clients {
			if err = b.measureOnceWith(ctx, members, leader, round, clients); err != nil {
				return fmt.Errorf("%s with %d clients: %w", workOnce, clients, err)
			}
		}
	}
	return nil
}

// measureOnceWith measures the kinds of puts in turn with one number of clients.
func (b *bench) measureOnceWith(ctx context.Context, members []*server, leader *server, round, clients int) (err error) {
	conns, err := dialAll(leader.addresses.GRPC, min(clients, b.conns), leader.dial...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conns.close()) }()
	calls, err := newOnceCalls(ctx, conns, clients)
	if err != nil {
		return err
	}
	value := randomValue(b.valueBytes)
	return b.measureTurns(ctx, turns{
		kinds:   onceKinds,
		servers: members,
		choose: func(_ context.Context, kind string) error {
			calls.kind.Store(&onceKinds[slices.Index(onceKinds, kind)])
			return nil
		},
		step: func(ctx context.Context, client int, r *recorder) error {
			request := &tenurev1.PutRequest{
				Key: anyKey(b.options), Content: &tenurev1.PutRequest_Value{Value: value}, Options: calls.options(client),
			}
			defer calls.done(client)
			return r.time(func() error {
				_, putErr := tenurev1.NewKVServiceClient(conns.of(client)).Put(ctx, request)
				return putErr
			})
		},
	}, round, clients)
}
