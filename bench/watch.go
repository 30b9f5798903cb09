package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// minWatchedBytes is the size of the number that each watched value begins with.
const minWatchedBytes = 8

// fanout is one writer and many watchers of one key.
type fanout struct {
	conns    connections
	cancel   context.CancelFunc
	watchers errgroup.Group
	key      string
	value    []byte
	sequence uint64
	arrived  chan time.Time // one for each watcher and event
	failed   chan error     // at most one for each watcher
}

// newWatchCell has watchers of one key, each a stream, and one writer. The writer puts, waits until every watcher has got
// the event, and puts again. A delivery is an operation; its latency runs from the send of the put to the event's arrival.
func newWatchCell(ctx context.Context, member *server, watchers int, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(watchers, o.conns)+1)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &fanout{
		conns: conns, cancel: cancel,
		key:     fmt.Sprintf("bench/watch/%d", watchers),
		value:   randomValue(max(o.valueBytes, minWatchedBytes)),
		arrived: make(chan time.Time, watchers),
		failed:  make(chan error, watchers),
	}
	for i := range watchers {
		stream, openErr := openWatch(ctx, conns[1+i%(len(conns)-1)], f.key)
		if openErr != nil {
			return nil, errors.Join(openErr, f.close())
		}
		f.watchers.Go(func() error {
			f.failed <- f.watch(stream)
			return nil
		})
	}
	return &cell{
		drivers: 1,
		step:    func(ctx context.Context, _ int, r *recorder) error { return f.round(ctx, watchers, r) },
		close:   f.close,
	}, nil
}

// openWatch opens a watch of a key and takes its first message, so that it sees every later event.
func openWatch(ctx context.Context, conn *grpc.ClientConn, key string) (tenurev1.WatchService_WatchClient, error) {
	stream, err := tenurev1.NewWatchServiceClient(conn).Watch(ctx, &tenurev1.WatchRequest{Keys: []string{key}})
	if err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err == nil && first.GetStarted() == nil {
		return nil, errors.New("a watch did not begin with its start")
	}
	return stream, err
}

// watch takes events, which must carry the numbers 1, 2, 3 and so on, until the stream ends.
func (f *fanout) watch(stream tenurev1.WatchService_WatchClient) error {
	for want := uint64(1); ; {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, event := range message.GetEvents().GetEvents() {
			if got := binary.BigEndian.Uint64(event.GetKv().GetValue()); got != want {
				return fmt.Errorf("event %d arrived, want %d", got, want)
			}
			want++
			f.arrived <- time.Now()
		}
	}
}

// round puts once and waits for all watchers.
func (f *fanout) round(ctx context.Context, watchers int, r *recorder) error {
	f.sequence++
	binary.BigEndian.PutUint64(f.value, f.sequence)
	latencies := make([]time.Duration, 0, watchers)
	begin := time.Now()
	_, err := tenurev1.NewKVServiceClient(f.conns[0]).Put(ctx, &tenurev1.PutRequest{
		Key: f.key, Content: &tenurev1.PutRequest_Value{Value: f.value},
	})
	if err != nil {
		return err
	}
	for range watchers {
		select {
		case at := <-f.arrived:
			latencies = append(latencies, at.Sub(begin))
		case err = <-f.failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	r.addAll(latencies)
	return nil
}

func (f *fanout) close() error {
	f.cancel()
	// The watchers end with an error because they were cancelled; their failures while measuring were seen in round.
	return errors.Join(f.watchers.Wait(), f.conns.close())
}
