package hostile_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

// slowStreams is how many streams are read slowly over gRPC; a fourth of that over REST.
func slowStreams(long bool) int {
	if long {
		return 8000
	}
	return 200
}

// slowly is how often a stream that is read slowly is read, a byte at a time.
const slowly = 20 * time.Millisecond

// readSlowly begins streams of each kind that reads on the member's side, over gRPC and over REST, and reads a byte of each
// now and then: too often to be silent, and too seldom to ever get what is there.
func readSlowly(ctx context.Context, a *attacker) error {
	all, err := a.manyStreams(ctx, 1)
	if err != nil {
		return err
	}
	for _, w := range all {
		go w.open(min(streamsPerWire, slowStreams(a.Long))) // It ends with the connection.
	}
	answers, err := a.manyLines(ctx)
	if err != nil {
		return err
	}
	return a.readLinesSlowly(ctx, answers)
}

// readAtOnce begins the same streams, and reads each of them as fast as it comes.
func readAtOnce(ctx context.Context, a *attacker) error {
	const windowMax = 1<<31 - 1
	if _, err := a.manyStreams(ctx, windowMax); err != nil {
		return err
	}
	answers, err := a.manyLines(ctx)
	for _, answer := range answers {
		go func() { _, _ = io.Copy(io.Discard, answer) }() // It ends with the connection.
	}
	return err
}

// streamsPerWire is how many streams one connection has.
const streamsPerWire = 2000

// manyStreams begins streams over gRPC, on which the member may send so many bytes before it is allowed more.
func (a *attacker) manyStreams(ctx context.Context, window uint32) ([]*wire, error) {
	kinds, err := a.streamKinds(ctx, "slow")
	if err != nil {
		return nil, err
	}
	var all []*wire
	for i := range slowStreams(a.Long) {
		at := i % streamsPerWire
		if at == 0 {
			w, dialErr := a.wire(ctx, a.Members[0].GRPC, http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
			if dialErr != nil {
				return nil, dialErr
			}
			w.deaf()
			all = append(all, w)
		}
		if err = all[len(all)-1].begin(uint32(2*at+1), kinds[i%len(kinds)], i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// open lets the member send one byte more on each stream, now and then.
func (w *wire) open(streams int) {
	tick := time.NewTicker(slowly)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.gone:
			return
		}
		for i := range streams {
			if w.WriteWindowUpdate(uint32(2*i+1), 1) != nil {
				return
			}
		}
	}
}

// manyLines begins streams over REST, with buffers that are as small as the system lets them be.
func (a *attacker) manyLines(ctx context.Context) ([]*slowAnswer, error) {
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: " + a.Members[0].HTTP + "\r\n\r\n"
	}
	requests := []string{
		get("/v1/watch?prefixes=much/&initial=true"), get("/v1/watch?prefixes="), get("/v1/election-events/slow/election"),
		get("/v1/admin/backup"), get("/v1/kv?prefix=much/"),
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostileAddress)}}
	var all []*slowAnswer
	for i := range slowStreams(a.Long) / 4 {
		conn, err := dialer.DialContext(ctx, "tcp", a.Members[0].HTTP)
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		a.keep(conn)
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.SetReadBuffer(1) // The system rounds it up.
		}
		if _, err = io.WriteString(conn, requests[i%len(requests)]); err == nil {
			all = append(all, &slowAnswer{Conn: conn})
		} // Else the member has no room for so many of one caller.
	}
	return all, nil
}

// readLinesSlowly reads a little of each answer now and then.
func (a *attacker) readLinesSlowly(ctx context.Context, all []*slowAnswer) error {
	var heard atomic.Bool
	go func() { // It ends with the process.
		for {
			for _, answer := range all {
				if answer.readOn() {
					a.statusCode("a stream that is read slowly", answer.status(), nil)
					heard.Store(true)
				}
			}
		}
	}()
	return a.until(ctx, func() (bool, error) { return heard.Load(), nil })
}

// slowAnswer is an answer of HTTP that is read slowly.
type slowAnswer struct {
	net.Conn
	head []byte // as far as the status
}

// statusEnd is where the status of an answer ends: "HTTP/1.1 200".
const statusEnd = 12

// readOn reads a little more, and reports whether that was the end of the status. The answer may be silent, or cut.
func (s *slowAnswer) readOn() bool {
	_ = s.SetReadDeadline(time.Now().Add(slowly)) // It fails only if the connection has ended, as reading will.
	part := make([]byte, max(1, statusEnd-len(s.head)))
	n, _ := s.Read(part)
	if n == 0 || len(s.head) == statusEnd {
		return false
	}
	s.head = append(s.head, part[:n]...)
	return len(s.head) == statusEnd
}

// status returns the status that was read; 0 is none.
func (s *slowAnswer) status() int {
	code, _ := strconv.Atoi(string(s.head[statusEnd-3:])) // What is no number is no status.
	return code
}
