package transport

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// link is one connection to a peer, with both of its streams. It is given up whole.
type link struct {
	p      *peer
	client peerv1.PeerServiceClient
	opened atomic.Int32 // streams that were accepted
	pinged atomic.Int64 // when the ping that is not answered was sent, in nanoseconds since begin; 0 is none
	cut    cutting
	number uint64 // of the last ping; owned by the urgent stream's sender
	begin  time.Time
}

// streams is how many streams a link has.
const streams = 2

// connect connects to the peer and sends to it until something ends that. It returns why.
func (p *peer) connect(ctx context.Context) error {
	self := p.t.present()
	if self.ClusterID == [16]byte{} {
		return errStarting
	}
	life, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	p.mu.Lock()
	p.leave = leave
	at := p.peer
	p.mu.Unlock()
	l := &link{p: p, begin: time.Now()}
	cc, err := p.t.dialPeer(p.id, at, l.cut.watch(p.t.o.Dial, at.Address), p.t.o.Security.tells(at, func() { leave(errOutlived) }))
	if err != nil {
		return err
	}
	defer func() { _ = cc.Close() }() // Its only error is that it is closed already.
	l.client = peerv1.NewPeerServiceClient(cc)
	g, life := errgroup.WithContext(life)
	g.Go(func() error { return l.stream(life, p.urgent, laneUrgent) })
	g.Go(func() error { return l.stream(life, p.appends, laneAppends) })
	g.Go(func() error { return l.watch(life) })
	err = g.Wait()
	if cause := context.Cause(life); ctx.Err() == nil && isLeft(cause) {
		return cause
	}
	if l.opened.Load() >= streams && l.cut.happened(err) {
		return &cutError{err: FromStatus(err)}
	}
	return FromStatus(err)
}

// watch gives the link up when the peer is silent: when the connection is not made, or a ping not answered.
func (l *link) watch(ctx context.Context) error {
	ticker := time.NewTicker(l.p.t.o.SilenceMax / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		since := time.Duration(l.pinged.Load())
		waits := since > 0 || l.opened.Load() < streams
		if waits && time.Since(l.begin)-since > l.p.t.o.SilenceMax {
			return errSilent
		}
	}
}

// stream opens one of the streams and serves it until it ends.
func (l *link) stream(ctx context.Context, q *queue, lane string) error {
	g, ctx := errgroup.WithContext(ctx)
	stream, err := l.open(ctx, lane)
	if err != nil {
		return err
	}
	q.setDown(false)
	g.Go(func() error { return l.listen(stream) })
	g.Go(func() error { return l.send(ctx, stream, q, lane) })
	return g.Wait()
}

// open opens a stream and waits until the peer accepts it.
func (l *link) open(ctx context.Context, lane string) (peerv1.PeerService_ExchangeClient, error) {
	stream, err := l.client.Exchange(ctx)
	if err != nil {
		return nil, err
	}
	hello := &peerv1.ExchangeRequest{Urgent: lane == laneUrgent}
	if hello.GetUrgent() {
		l.p.t.present().describe(hello)
	}
	if err = stream.Send(hello); err != nil {
		return nil, refusedBy(stream, err)
	}
	resp, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	l.accepted(resp, withoutTLS(stream)) //nolint:contextcheck // It is what the stream knows of its connection.
	return stream, nil
}

// refusedBy returns why the peer ended a stream on which a send failed.
func refusedBy(stream peerv1.PeerService_ExchangeClient, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

// accepted notes that the peer takes a stream, and whether it came without TLS; with both the link is made.
func (l *link) accepted(resp *peerv1.ExchangeResponse, inClear bool) {
	l.p.met(inClear)
	if l.opened.Add(1) < streams {
		return
	}
	p := l.p
	p.t.o.Accepted()
	p.counters.connects.Inc()
	p.mu.Lock()
	p.state.Connected, p.state.Since, p.state.Problem = true, time.Now(), resp.GetUnreachable()
	at := p.peer
	p.mu.Unlock()
	p.show()
	p.t.log.Info("connected to peer", zap.String("peer", at.Name), zap.String("address", at.Address))
}

// listen takes the answers of the peer.
func (l *link) listen(stream peerv1.PeerService_ExchangeClient) error {
	for {
		resp, err := stream.Recv()
		if err != nil {
			return err
		}
		if sent := l.pinged.Swap(0); sent > 0 && resp.GetNumber() > 0 {
			l.answered(resp, time.Since(l.begin)-time.Duration(sent))
		}
	}
}

// answered notes an answer to a ping.
func (l *link) answered(resp *peerv1.ExchangeResponse, took time.Duration) {
	p := l.p
	p.counters.roundTrip.Set(took.Seconds())
	p.mu.Lock()
	p.state.RoundTrip = took
	news := resp.GetUnreachable() != "" && p.state.Problem == ""
	p.state.Problem = resp.GetUnreachable()
	name := p.peer.Name
	p.mu.Unlock()
	if news {
		p.t.log.Warn("a peer cannot connect to the address that this member advertises; see --advertise-peer",
			zap.String("peer", name), zap.String("problem", resp.GetUnreachable()))
	}
}

// send sends what is queued, and pings, until the stream ends.
func (l *link) send(ctx context.Context, stream peerv1.PeerService_ExchangeClient, q *queue, lane string) error {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	var msgs []*raftpb.Message
	for {
		due := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.wake:
		case <-ticker.C:
			due = lane == laneUrgent
		}
		for more := true; more; {
			msgs = q.take(msgs[:0])
			more = len(msgs) > 0
			if !more && !due {
				break
			}
			err := l.sendBatch(stream, msgs, lane, due)
			if errors.Is(err, io.EOF) {
				// The stream is over. Who listens on it hears why, and only one may.
				<-ctx.Done()
				return ctx.Err()
			}
			if err != nil {
				return err
			}
			due = false
		}
		clear(msgs[:cap(msgs)])
	}
}

// sendBatch sends some messages in one request, as a ping if one is due and none under way.
func (l *link) sendBatch(
	stream peerv1.PeerService_ExchangeClient, msgs []*raftpb.Message, lane string, ping bool,
) error {
	req := &peerv1.ExchangeRequest{Messages: make([][]byte, 0, len(msgs))}
	size := 0
	for _, m := range msgs {
		raw, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		size += len(raw)
		req.Messages = append(req.Messages, raw)
	}
	if ping && l.pinged.CompareAndSwap(0, int64(max(1, time.Since(l.begin)))) {
		l.number++
		req.Number = l.number
	}
	if len(msgs) == 0 && req.GetNumber() == 0 {
		return nil
	}
	if err := stream.Send(req); err != nil {
		return err
	}
	l.p.counters.sent[lane].Add(float64(len(msgs)))
	l.p.counters.sentBytes.Add(float64(size))
	return nil
}
