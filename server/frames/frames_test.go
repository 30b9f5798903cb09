package frames_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/frames"
)

// scripted is a connection whose client sent everything already. It is read in pieces of the given sizes, in turn.
type scripted struct {
	net.Conn
	sent   bytes.Buffer
	wrote  bytes.Buffer // by the server
	pieces []int
	turn   int
	closed bool
}

func (s *scripted) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1} }

func (s *scripted) Read(p []byte) (int, error) {
	if s.closed || s.sent.Len() == 0 {
		return 0, io.EOF
	}
	size := s.pieces[s.turn%len(s.pieces)]
	s.turn++
	return s.sent.Read(p[:min(len(p), size)])
}

func (s *scripted) Write(p []byte) (int, error) { return s.wrote.Write(p) }

func (s *scripted) Close() error { s.closed = true; return nil }

// How often the clients of these tests may open their windows, and take calls back.
const (
	updatesBurst = 10
	updateEvery  = time.Minute
	resetsBurst  = 20
	resetEvery   = time.Minute
)

// rig is a watched connection.
type rig struct {
	*http2.Framer // writes what the client sends
	inner         *scripted
	conn          frames.Conn
	server        *http2.Framer // writes what the server sends
	meter         *frames.Meter
	bytes         *share.Pool
	answers       *share.Pool
}

func newRig(pieces ...int) *rig {
	r := &rig{inner: &scripted{pieces: pieces}, bytes: share.NewPool(1 << 20), answers: share.NewPool(1 << 20)}
	r.meter = frames.NewMeter(frames.Options{
		Bytes: r.bytes, Answers: r.answers, ConnBytesMax: 1 << 18, Deadline: time.Millisecond, ResetsMax: 100, ResetsWindow: 24 * time.Hour, StreamBytes: 100,
		ResetsBurst: resetsBurst, ResetEvery: resetEvery, UpdatesBurst: updatesBurst, UpdateEvery: updateEvery,
	})
	r.inner.sent.WriteString(http2.ClientPreface)
	r.Framer = http2.NewFramer(&r.inner.sent, nil)
	r.conn = r.meter.Wrap(r.inner)
	r.server = http2.NewFramer(r.conn, nil)
	return r
}

// call begins a call.
func (r *rig) call(stream uint32) {
	_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte("h"), EndHeaders: true})
}

// send sends a part of a stream.
func (r *rig) send(stream uint32, ends bool, part []byte) { _ = r.WriteData(stream, ends, part) }

// read reads what came, all of it or until the connection is closed.
func (r *rig) read() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{r.conn}) }

// framed returns a message with its prefix.
func framed(size int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), make([]byte, size)...)
}

func TestIncompleteMessagesCount(t *testing.T) {
	tests := map[string]struct {
		client func(r *rig)
		want   int64
	}{
		"nothing of a complete message": {func(r *rig) { r.send(1, true, framed(1000)) }, 0},
		"nothing of many in one frame": {func(r *rig) {
			r.send(1, false, append(append(framed(0), framed(7)...), framed(1000)...))
		}, 0},
		"a call of which nothing came":    {func(*rig) {}, 100},
		"what came of a message":          {func(r *rig) { r.send(1, false, framed(1000)[:600]) }, 700},
		"what came of a prefix":           {func(r *rig) { r.send(1, false, framed(1000)[:3]) }, 103},
		"what came of the second message": {func(r *rig) { r.send(1, false, append(framed(9), framed(1000)[:600]...)) }, 600},
		"nothing of one that came in parts": {func(r *rig) {
			m := framed(1000)
			r.send(1, false, m[:2])
			r.send(1, false, m[2:700])
			r.send(1, false, m[700:])
		}, 0},
		"not the padding": {func(r *rig) { _ = r.WriteDataPadded(1, false, framed(1000)[:600], make([]byte, 255)) }, 700},
		"nothing of a call that the client took back": {func(r *rig) {
			r.send(1, false, framed(1000)[:600])
			_ = r.WriteRSTStream(1, http2.ErrCodeCancel)
		}, 0},
		"nothing after the client's end":      {func(r *rig) { r.send(1, true, framed(1000)[:600]) }, 0},
		"nothing of streams that never began": {func(r *rig) { r.send(1, true, framed(1)); r.send(7, false, framed(1000)[:600]) }, 0},
		"each of two streams, in turns": {func(r *rig) {
			r.call(3)
			r.send(1, false, framed(900)[:50])
			r.send(3, false, framed(900)[:60])
			r.send(1, false, make([]byte, 70))
		}, 380},
		"nothing of other frames between them": {func(r *rig) { _ = r.WritePing(false, [8]byte{}); r.send(1, true, framed(1000)); _ = r.WriteSettings() }, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pieces := range [][]int{{1}, {3, 1, 4}, {1 << 16}, {rand.IntN(64) + 1, rand.IntN(64) + 1}} {
				r := newRig(pieces...)
				_ = r.WriteSettings()
				r.call(1)
				tc.client(r)
				r.read()
				if got := r.bytes.Used(); got != tc.want || r.inner.closed {
					t.Errorf("in pieces of %v: %d bytes count, want %d; closed: %v", pieces, got, tc.want, r.inner.closed)
				}
				_ = r.conn.Close()
				if got := r.bytes.Used(); got != 0 {
					t.Errorf("%d bytes count after the end, want none", got)
				}
			}
		})
	}
}

// TestAnAnsweredCallCountsNothing ends streams from the server's side, before all of the message came.
// TestManyConnectionsCountTogether lets connections that share a meter send incomplete messages and end at once; the race detector looks on.
func TestManyConnectionsCountTogether(t *testing.T) {
	first := newRig(1 << 16)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				r := &rig{inner: &scripted{pieces: []int{1 << 16}}}
				r.inner.sent.WriteString(http2.ClientPreface)
				r.Framer = http2.NewFramer(&r.inner.sent, nil)
				r.conn = first.meter.Wrap(r.inner)
				r.call(1)
				r.send(1, false, framed(1000)[:600])
				r.read()
				_ = r.conn.Close()
			}
		})
	}
	all.Wait()
	if got := first.bytes.Used(); got != 0 {
		t.Errorf("%d bytes count after the end of all connections, want none", got)
	}
}

func TestAnAnsweredCallCountsNothing(t *testing.T) {
	r := newRig(1 << 16)
	for id := uint32(1); id <= 5; id += 2 {
		r.call(id)
		r.send(id, false, framed(1000)[:600])
	}
	r.read()
	_ = r.server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("t"), EndHeaders: true, EndStream: true})
	_ = r.server.WriteRSTStream(3, http2.ErrCodeNo)
	_ = r.server.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: []byte("h"), EndHeaders: true})
	if got := r.bytes.Used(); got != 700 {
		t.Errorf("%d bytes count, want the 700 of the call that goes on", got)
	}
	r.send(1, false, make([]byte, 300))
	r.read()
	if got := r.bytes.Used(); got != 700 {
		t.Errorf("%d bytes count after data for a stream that ended, want 700", got)
	}
}

func TestAConnectionThatPinsTooMuchIsClosed(t *testing.T) {
	tests := map[string]struct {
		client func(r *rig)
		cause  frames.Cause
	}{
		"bytes": {func(r *rig) {
			r.call(1)
			for range 33 {
				r.send(1, false, append([]byte{0, 0, 255, 255, 255}, make([]byte, 8<<10)...)[:8<<10])
			}
		}, frames.Budget},
		"calls of which nothing comes": {func(r *rig) {
			for id := range uint32(3000) {
				r.call(2*id + 1)
			}
		}, frames.Budget},
		"calls that are taken back": {func(r *rig) {
			for id := range uint32(101) {
				r.call(2*id + 1)
				_ = r.WriteRSTStream(2*id+1, http2.ErrCodeCancel)
			}
		}, frames.Resets},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(1 << 10)
				tc.client(r)
				r.read()
				if !r.inner.closed || r.meter.Closed(tc.cause) != 1 || r.bytes.Used() != 0 {
					t.Errorf("closed %v, %d for %v, %d bytes count; want it closed once, and none",
						r.inner.closed, r.meter.Closed(tc.cause), tc.cause, r.bytes.Used())
				}
			})
		})
	}
}

// TestAMessageMustComeToItsEnd leaves one message incomplete. A call of which nothing came may stay: a stream may begin so.
func TestAMessageMustComeToItsEnd(t *testing.T) {
	begun, late := newRig(1<<16), newRig(1<<16)
	begun.call(1)
	begun.read()
	late.call(1)
	late.send(1, false, framed(10)[:7])
	late.read()
	for _, r := range []*rig{begun, late} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.meter.Run(ctx) }()
		for wait := time.Now(); r == late && r.meter.Closed(frames.Late) == 0 && time.Since(wait) < time.Minute; {
			<-time.After(time.Millisecond)
		}
		stop()
		<-ended
	}
	if begun.inner.closed || !late.inner.closed {
		t.Errorf("closed: %v without a byte, %v with an incomplete message; want only that", begun.inner.closed, late.inner.closed)
	}
}

// TestWhatIsHeldCountsBeyondItsConnection counts answers that gRPC does not have yet: lines drop them after their connection is closed.
func TestWhatIsHeldCountsBeyondItsConnection(t *testing.T) {
	r := newRig(1)
	conn, ok := r.conn.(interface {
		Hold(n int64) (func(), bool)
		Cut()
	})
	if !ok {
		t.Fatal("the connection counts no answers")
	}
	release, ok := conn.Hold(500_000)
	if _, more := conn.Hold(200_000); !ok || more {
		t.Errorf("room for less than half of what there is: %v; for more than that: %v", ok, more)
	}
	for range 3 { // Each of those that have no room may cut.
		conn.Cut()
	}
	if _, more := conn.Hold(1); more || r.answers.Used() != 500_000 || r.meter.Closed(frames.Unread) != 1 {
		t.Errorf("after the cut: %v for one more, %d bytes are taken, %d connections were closed; want none, 500 000, one",
			more, r.answers.Used(), r.meter.Closed(frames.Unread))
	}
	release()
	if used := r.answers.Used(); used != 0 {
		t.Errorf("%d bytes are taken of what is dropped", used)
	}
}

// TestAnswersAreHeldWhileTheConnectionIsClosed is for the race detector.
func TestAnswersAreHeldWhileTheConnectionIsClosed(t *testing.T) {
	r := newRig(1)
	conn, ok := r.conn.(interface {
		Hold(n int64) (func(), bool)
		Cut()
	})
	if !ok {
		t.Fatal("the connection counts no answers")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				if release, room := conn.Hold(1); room {
					release()
				}
			}
		})
	}
	all.Go(conn.Cut)
	all.Wait()
	if used := r.answers.Used(); used != 0 {
		t.Errorf("%d bytes are taken, want none", used)
	}
}

// TestAnswersCountUntilTheyAreSentOrTheConnectionIsClosed counts answers on a connection.
func TestAnswersCountUntilTheyAreSentOrTheConnectionIsClosed(t *testing.T) {
	r := newRig(1)
	conn, ok := r.conn.(interface {
		Owe(n int64) bool
		Pay(n int64)
		Cut()
	})
	if !ok {
		t.Fatal("the connection counts no answers")
	}
	want := func(owed int64) {
		t.Helper()
		if used := r.answers.Used(); used != owed {
			t.Errorf("%d bytes are taken, want %d", used, owed)
		}
	}
	if !conn.Owe(300_000) || !conn.Owe(200_000) {
		t.Error("there is no room for less than half of what there is")
	}
	if conn.Owe(200_000) {
		t.Error("there is room for more than a share")
	}
	want(500_000)
	conn.Pay(300_000)
	want(200_000)
	conn.Cut()
	want(0)
	conn.Pay(200_000) // What gRPC drops after that.
	if !conn.Owe(1 << 30) {
		t.Error("an answer to nobody has no room")
	}
	conn.Pay(1 << 30)
	want(0)
	if n := r.meter.Closed(frames.Unread); n != 1 || !r.inner.closed {
		t.Errorf("%d connections were closed, want 1", n)
	}
}

// TestLeaveComesWhileAnswersAreWritten is for the race detector.
func TestLeaveComesWhileAnswersAreWritten(t *testing.T) {
	r := newRig(1)
	answer := framed(8)
	var all sync.WaitGroup
	all.Go(func() {
		for range 100 {
			if err := r.server.WriteData(1, false, answer); err != nil {
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		for range 100 {
			r.conn.Leave()
		}
	})
	all.Wait()
	data, goodbyes := 0, 0
	for client := http2.NewFramer(nil, bytes.NewReader(r.inner.wrote.Bytes())); ; {
		frame, err := client.ReadFrame()
		if err != nil {
			break
		}
		switch frame.(type) {
		case *http2.DataFrame:
			data++
		case *http2.GoAwayFrame:
			goodbyes++
		}
	}
	if data != 100 || goodbyes != 1 {
		t.Errorf("the client reads %d answers and is told to leave %d times, want 100 and once", data, goodbyes)
	}
}

// TestLeaveComesBetweenFrames asks a client to leave at every byte of what the server writes: the frame GOAWAY comes once, as soon as no other
// frame is half written and no headers are to be continued.
func TestLeaveComesBetweenFrames(t *testing.T) {
	var written bytes.Buffer
	server := http2.NewFramer(&written, nil)
	err := errors.Join(server.WriteSettings(),
		server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("h"), EndHeaders: false}),
		server.WriteContinuation(1, true, []byte("more")),
		server.WriteData(1, false, []byte("data")),
		server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("t"), EndHeaders: true, EndStream: true}))
	if err != nil {
		t.Fatal(err)
	}
	all := written.Bytes()
	for at := range len(all) + 1 {
		r := newRig(1)
		for i, b := range all {
			if i == at {
				r.conn.Leave()
			}
			if _, err = r.conn.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		if at == len(all) {
			r.conn.Leave()
		}
		var kinds []http2.FrameType
		client := http2.NewFramer(nil, bytes.NewReader(r.inner.wrote.Bytes()))
		goodbyes := 0
		for {
			frame, err := client.ReadFrame() // It refuses frames between headers and what continues them.
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("asked at byte %d: %v after %v", at, err, kinds)
			}
			kinds = append(kinds, frame.Header().Type)
			if away, ok := frame.(*http2.GoAwayFrame); ok {
				goodbyes++
				if away.ErrCode != http2.ErrCodeNo || away.LastStreamID != 1<<31-1 {
					t.Errorf("got %v, want that all calls are served", away)
				}
			}
		}
		if goodbyes != 1 || len(kinds) != 6 || kinds[0] != http2.FrameSettings {
			t.Errorf("asked at byte %d: got the frames %v, want one GOAWAY", at, kinds)
		}
	}
}
