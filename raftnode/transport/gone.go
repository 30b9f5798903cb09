package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/gone"
)

// cutting notes whether the other end ended a connection, by an end of file or a reset.
type cutting struct{ byPeer atomic.Bool }

// watch makes connections that are noted.
func (c *cutting) watch(dial func(context.Context, string) (net.Conn, error), address string) grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &watched{Conn: conn, cut: c}, nil
	})
}

// happened reports whether the other end ended the connection without saying so first; a member that goes in order, or a proxy
// on the way, sends GOAWAY. The error is that of a stream.
func (c *cutting) happened(err error) bool {
	return c.byPeer.Load() && (err == nil || !strings.Contains(err.Error(), "goaway"))
}

func (c *cutting) note(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		c.byPeer.Store(true)
	}
}

// watched is a connection that is noted.
type watched struct {
	net.Conn
	cut *cutting
}

// Read reads.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.cut.note(err)
	return n, err
}

// Write writes.
func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.cut.note(err)
	return n, err
}

// cutError says that the other end ended a connection that was made.
type cutError struct{ err error }

func (e *cutError) Error() string { return describe(e.err) }

func (e *cutError) Unwrap() error { return e.err }

// ended finds out, after the peer has cut a connection, whether its process has ended.
func (p *peer) ended(ctx context.Context) bool {
	at, known := p.known(), p.t.Starts(p.id)
	ctx, cancel := context.WithTimeout(ctx, redialMax)
	defer cancel()
	for range redialsMax {
		redial := gone.Redial{Cut: true, Known: StartOf(known)}
		redial.Refused, redial.Answered = p.redial(ctx, at)
		if redial.Ended() {
			return true
		}
		if redial.Answered > 0 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(redialWait):
		}
	}
	return false
}

// redial connects to where the peer was: it is refused, or answered by a start of it, or neither.
func (p *peer) redial(ctx context.Context, at Peer) (refused bool, start uint64) {
	conn, err := p.t.o.Dial(ctx, at.Address)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED), 0
	}
	_ = conn.Close() // Nothing was sent on it.
	self := p.t.present()
	resp, err := p.t.Probe(ctx, at.Address, &peerv1.ProbeRequest{
		Caller: &peerv1.PeerHeader{ClusterId: self.ClusterID[:], From: self.Member.GetId()},
	})
	h := resp.GetHeader()
	if err != nil || h.GetFrom() != p.id || !bytes.Equal(h.GetClusterId(), self.ClusterID[:]) {
		return false, 0
	}
	return false, StartOf(h.GetStarts())
}
