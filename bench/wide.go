package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Many watchers of one key.
const (
	wideWatchers = 10_000
	wideLines    = 100
	// wideEvery is the pause between puts of the paced cell, and wideAhead how many puts the other one is ahead of its slowest watcher.
	wideEvery = 100 * time.Millisecond
	wideAhead = 4
)

// wideKinds are the cells: whether each watch is a call on a line or a stream, and whether the writer is paced.
var wideKinds = []string{"line-paced", "line-full", "stream-paced", "stream-full"}

// wide is one writer and many watchers of one key, over few connections.
type wide struct {
	conns   connections
	cancel  context.CancelFunc
	readers errgroup.Group
	failed  chan error // one slot
	key     string
	value   []byte
	base    time.Time
	paced   bool
	last    time.Time // put
	puts    int64
	bytes   atomic.Int64 // read from all connections

	mu        sync.Mutex // guards what follows
	arrived   *sync.Cond
	delivered int64
	latencies []time.Duration
}

// newWideCell has watchers on lines or streams, as a kind says. A delivery is an operation; its latency runs from before the put.
func newWideCell(ctx context.Context, member *server, kind string, o options) (_ *cell, err error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &wide{
		cancel: cancel, failed: make(chan error, 1), key: "bench/wide/" + kind, value: randomValue(max(o.valueBytes, minWatchedBytes)),
		base: time.Now(), paced: kind == wideKinds[0] || kind == wideKinds[2],
	}
	w.arrived = sync.NewCond(&w.mu)
	w.conns, err = dialAll(member.addresses.GRPC, wideLines+1, grpc.WithContextDialer(w.dial))
	if err != nil {
		cancel()
		return nil, err
	}
	open := w.openLine
	if kind == wideKinds[2] || kind == wideKinds[3] {
		open = w.openStreams
	}
	for i := range wideLines {
		if err = open(ctx, w.conns[i+1]); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return &cell{drivers: 1, step: func(ctx context.Context, _ int, r *recorder) error { return w.step(ctx, r) }, bytes: w.bytes.Load, close: w.close}, nil
}

// wideConn counts what is read.
type wideConn struct {
	net.Conn
	read *atomic.Int64
}

func (c wideConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.read.Add(int64(n))
	return n, err
}

func (w *wide) dial(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return wideConn{Conn: c, read: &w.bytes}, err
}

// openLine opens a line with a part of the watches, and returns when all have started.
func (w *wide) openLine(ctx context.Context, conn *grpc.ClientConn) error {
	const watches = wideWatchers / wideLines
	line, err := tenurev1.NewLineServiceClient(conn).Line(ctx)
	if err != nil {
		return err
	}
	request := &tenurev1.LineRequest{}
	for n := range uint64(watches) {
		request.Calls = append(request.Calls, &tenurev1.LineCall{
			Number: n + 1, CreditMessages: math.MaxUint32, CreditBytes: math.MaxUint64,
			Request: &tenurev1.LineCall_Watch{Watch: &tenurev1.WatchRequest{Keys: []string{w.key}}},
		})
	}
	if err = line.Send(request); err != nil {
		return err
	}
	for started := 0; started < watches; {
		m, err := line.Recv()
		if err != nil {
			return err
		}
		for _, p := range m.GetParts() {
			started += len(p.GetNumbers())
		}
	}
	w.readers.Go(func() error {
		seen := make([]uint64, watches+1)
		for {
			m, err := line.Recv()
			if err != nil {
				return w.fail(err)
			}
			for _, p := range m.GetParts() {
				for _, n := range p.GetNumbers() {
					if err = w.take(p.GetWatch(), &seen[n]); err != nil {
						return w.fail(err)
					}
				}
			}
		}
	})
	return nil
}

// openStreams opens a part of the watches, each as a stream.
func (w *wide) openStreams(ctx context.Context, conn *grpc.ClientConn) error {
	for range wideWatchers / wideLines {
		stream, err := openWatch(ctx, conn, w.key)
		if err != nil {
			return err
		}
		w.readers.Go(func() error {
			seen := uint64(0)
			for {
				m, err := stream.Recv()
				if err == nil {
					err = w.take(m, &seen)
				}
				if err != nil {
					return w.fail(err)
				}
			}
		})
	}
	return nil
}

// take counts the events of one watch. Each must be new to it.
func (w *wide) take(m *tenurev1.WatchResponse, seen *uint64) error {
	events := m.GetEvents().GetEvents()
	if len(events) == 0 {
		return nil
	}
	now := time.Since(w.base)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		if e.GetRevision() <= *seen {
			return fmt.Errorf("revision %d arrived after %d", e.GetRevision(), *seen)
		}
		*seen = e.GetRevision()
		sent := time.Duration(binary.BigEndian.Uint64(e.GetKv().GetValue()))
		w.latencies = append(w.latencies, now-sent)
	}
	w.delivered += int64(len(events))
	if w.delivered%wideWatchers < int64(len(events)) {
		w.arrived.Broadcast()
	}
	return nil
}

// fail tells the writer that a watch ended.
func (w *wide) fail(err error) error {
	select {
	case w.failed <- err:
	default:
	}
	w.arrived.Broadcast()
	return nil
}

// step puts once, and takes what has arrived since.
func (w *wide) step(ctx context.Context, r *recorder) error {
	if w.paced {
		if err := pause(ctx, wideEvery-time.Since(w.last)); err != nil {
			return err
		}
		w.last = time.Now()
	}
	binary.BigEndian.PutUint64(w.value, uint64(time.Since(w.base)))
	_, err := tenurev1.NewKVServiceClient(w.conns[0]).Put(ctx, &tenurev1.PutRequest{Key: w.key, Content: &tenurev1.PutRequest_Value{Value: w.value}})
	if err != nil {
		return err
	}
	w.puts++
	w.mu.Lock()
	for !w.paced && len(w.failed) == 0 && w.delivered < (w.puts-wideAhead+1)*wideWatchers {
		w.arrived.Wait()
	}
	latencies := w.latencies
	w.latencies = nil
	w.mu.Unlock()
	select {
	case err = <-w.failed:
		return err
	default:
	}
	r.addAll(latencies)
	return nil
}

func (w *wide) close() error {
	w.cancel()
	return errors.Join(w.readers.Wait(), w.conns.close())
}
