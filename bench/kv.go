package main

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"golang.org/x/sync/errgroup"
)

// keyName returns the name of the i-th key that put and get use.
func keyName(i int) string { return fmt.Sprintf("bench/key/%08d", i) }

// anyKey draws one of the keys; all are equally likely.
func anyKey(o options) string {
	return keyName(rand.IntN(o.keys)) //nolint:gosec // Load needs no secrets.
}

// fillers is how many clients prepare state in parallel.
const fillers = 64

// randomValue returns bytes that do not compress.
func randomValue(n int) []byte {
	value := make([]byte, n)
	if _, err := cryptorand.Read(value); err != nil {
		panic(err) // crypto/rand never fails on Linux.
	}
	return value
}

// inParallel runs work for every number below n, in fillers goroutines.
func inParallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for filler := range fillers {
		group.Go(func() error {
			for i := filler; i < n; i += fillers {
				if err := work(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// fillKeys gives every key a value, so that gets find one and puts replace one.
func fillKeys(ctx context.Context, member *server, o options) error {
	conns, err := dialAll(member.addresses.GRPC, o.conns, member.dial...)
	if err != nil {
		return err
	}
	value := randomValue(o.valueBytes)
	err = inParallel(ctx, o.keys, func(ctx context.Context, i int) error {
		request := &tenurev1.PutRequest{Key: keyName(i), Content: &tenurev1.PutRequest_Value{Value: value}}
		_, putErr := tenurev1.NewKVServiceClient(conns.of(i)).Put(ctx, request)
		return putErr
	})
	if err != nil {
		return fmt.Errorf("fill keys: %w", err)
	}
	return conns.close()
}

// newPutCell puts values to random keys.
func newPutCell(member *server, clients int, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(clients, o.conns), member.dial...)
	if err != nil {
		return nil, err
	}
	value := randomValue(o.valueBytes)
	return &cell{
		drivers: clients,
		step: func(ctx context.Context, client int, r *recorder) error {
			request := &tenurev1.PutRequest{
				Key:     anyKey(o),
				Content: &tenurev1.PutRequest_Value{Value: value},
			}
			return r.time(func() error {
				_, putErr := tenurev1.NewKVServiceClient(conns.of(client)).Put(ctx, request)
				return putErr
			})
		},
		close: conns.close,
	}, nil
}

// newGetCell reads random keys, linearizably.
func newGetCell(member *server, clients int, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(clients, o.conns), member.dial...)
	if err != nil {
		return nil, err
	}
	return &cell{
		drivers: clients,
		step: func(ctx context.Context, client int, r *recorder) error {
			request := &tenurev1.GetRequest{Key: anyKey(o)}
			return r.time(func() error {
				response, getErr := tenurev1.NewKVServiceClient(conns.of(client)).Get(ctx, request)
				if getErr == nil && len(response.GetKv().GetValue()) != o.valueBytes {
					return fmt.Errorf("get %q: %d bytes, want %d", request.GetKey(), len(response.GetKv().GetValue()), o.valueBytes)
				}
				return getErr
			})
		},
		close: conns.close,
	}, nil
}
