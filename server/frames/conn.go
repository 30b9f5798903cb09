package frames

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/tenure-io/tenure/internal/share"
)

// errClosed ends the reading of a connection that the meter closed.
var errClosed = errors.New("connection closed: it pins too much")

// message is the message that comes on a stream, from the first byte that is there without the last.
type message struct {
	first  bool // of its stream
	prefix [prefixBytes]byte
	got    int       // bytes of the prefix
	left   int64     // bytes to come after the prefix
	held   int64     // bytes that count
	since  time.Time // when its first byte came; zero while none has
}

// conn is a connection that is watched.
type conn struct {
	leaver
	meter  *Meter
	caller share.Caller
	in     scanner // belongs to the reader, as fresh and broke
	fresh  []uint32
	broke  *Cause

	mu      sync.Mutex // guards what follows
	gone    bool
	known   bool                // to the meter
	highest uint32              // of the client's streams
	streams map[uint32]*message // that go on; nil for one of which nothing is incomplete
	held    int64               // taken from the pool
	owed    int64               // taken from that of answers
	resets  int                 // since window
	window  time.Time
	updates updates
	back    pace          // of calls that are taken back
	ended   chan struct{} // closed with the connection
}

// Read reads what the client sent, and closes the connection if that is too much.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	c.mu.Lock()
	if !c.gone {
		c.in.scan(p[:n], incoming{c})
		c.countFresh()
	}
	o := c.meter.options
	broke, rest := c.broke, max(c.updates.rest(o.UpdateEvery, o.UpdatesBurst), c.back.rest(o.ResetEvery, o.ResetsBurst))
	c.mu.Unlock()
	if broke != nil {
		c.meter.close(c, *broke)
		return 0, errClosed
	}
	if rest > 0 {
		c.rest(rest)
	}
	return n, err
}

// rest lets time pass, unless the connection ends.
func (c *conn) rest(d time.Duration) {
	c.meter.rests.Add(1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ended:
	}
}

// Write writes to the client. Streams that the server ends there pin nothing any more.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	if !c.gone {
		c.out.scan(p, outgoing{c})
	}
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	if err == nil {
		c.sayGoodbye()
	}
	return n, err
}

// Close closes the connection and gives back what it took.
func (c *conn) Close() error {
	c.meter.forget(c)
	c.mu.Lock()
	if !c.gone {
		close(c.ended)
	}
	c.gone = true
	c.meter.options.Bytes.Give(c.caller, c.held)
	c.meter.options.Answers.Give(c.caller, c.owed)
	c.held, c.owed = 0, 0
	c.streams = nil
	c.mu.Unlock()
	return c.Conn.Close()
}

// Owe counts bytes of an answer that gRPC keeps until the client takes it, and reports false if the caller has no room for
// them. On a connection that is closed nothing counts.
func (c *conn) Owe(bytes int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return true
	}
	if !c.meter.options.Answers.Take(c.caller, bytes) {
		return false
	}
	c.owed += bytes
	return true
}

// Pay gives back what Owe took, once the client has taken the answer or gRPC has dropped it.
func (c *conn) Pay(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.owed -= bytes
	c.meter.options.Answers.Give(c.caller, bytes)
}

// Hold counts bytes of an answer that gRPC does not have yet, until release is called: also when the connection was closed meanwhile. It
// reports false if the caller has no room for them, and of a connection that is closed, whose answers are of no use.
func (c *conn) Hold(bytes int64) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.meter.options.Answers.Take(c.caller, bytes) {
		return nil, false
	}
	return func() { c.meter.options.Answers.Give(c.caller, bytes) }, true
}

// Cut closes the connection, because answers are not read of which nobody could be told otherwise what they say.
func (c *conn) Cut() {
	c.mu.Lock()
	gone := c.gone
	c.mu.Unlock()
	if !gone {
		c.meter.close(c, Unread)
	}
}

// late reports whether a message is incomplete since before a time.
func (c *conn) late(before time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == 0 {
		return false
	}
	for _, m := range c.streams {
		if m != nil && !m.since.IsZero() && m.since.Before(before) {
			return true
		}
	}
	return false
}

// take counts bytes of a message. The caller holds mu, as of what follows.
func (c *conn) take(m *message, n int64) {
	if c.broke != nil {
		return
	}
	if c.held+n > c.meter.options.ConnBytesMax || !c.meter.options.Bytes.Take(c.caller, n) {
		c.fail(Budget)
		return
	}
	m.held += n
	c.held += n
	if !c.known {
		c.known = true
		c.meter.know(c)
	}
}

// fail says that the connection is to be closed.
func (c *conn) fail(cause Cause) {
	if c.broke == nil {
		c.broke = &cause
	}
}

// release gives back what a message took, if it took anything.
func (c *conn) release(m *message) {
	if m == nil || m.held == 0 {
		return
	}
	c.meter.options.Bytes.Give(c.caller, m.held)
	c.held -= m.held
	m.held = 0
}

// countFresh counts the calls that began with the last bytes and whose first message is not complete.
func (c *conn) countFresh() {
	for _, id := range c.fresh {
		if m := c.streams[id]; m != nil && m.first {
			c.take(m, c.meter.options.StreamBytes)
		}
	}
	c.fresh = c.fresh[:0]
}

// incoming follows what the client sends.
type incoming struct{ *conn }

func (c incoming) begin(f frame) {
	switch f.kind {
	case typeHeaders:
		if f.stream > c.highest {
			c.highest = f.stream
			c.streams[f.stream] = &message{first: true}
			c.fresh = append(c.fresh, f.stream)
		}
	case typeReset:
		if _, open := c.streams[f.stream]; open {
			c.reset()
		}
	case typeUpdate:
		c.updates.left--
	}
}

// reset counts a call that was taken back.
func (c incoming) reset() {
	now := time.Now()
	if now.Sub(c.window) > c.meter.options.ResetsWindow {
		c.window, c.conn.resets = now, 0
	}
	c.back.left--
	if c.conn.resets++; c.conn.resets > c.meter.options.ResetsMax {
		c.fail(Resets)
	}
}

func (c incoming) end(f frame) {
	m, open := c.streams[f.stream]
	if !open || !f.ends() {
		return
	}
	c.release(m)
	if f.kind == typeReset {
		delete(c.streams, f.stream)
		return
	}
	c.streams[f.stream] = nil // The server has yet to answer.
}

// data follows the messages of a stream.
func (c incoming) data(f frame, part []byte) {
	m, open := c.streams[f.stream]
	if !open {
		return // gRPC drops it, too.
	}
	for len(part) > 0 {
		if m == nil {
			if n := whole(part); n > 0 {
				c.came()
				part = part[n:]
				continue
			}
			m = &message{}
			c.streams[f.stream] = m
		}
		n := m.add(part)
		part = part[n:]
		if m.complete() {
			c.came()
			c.release(m)
			m = nil
			c.streams[f.stream] = nil
			continue
		}
		c.take(m, int64(n))
		if m.since.IsZero() {
			m.since = time.Now()
		}
	}
}

// came counts a message that is complete.
func (c incoming) came() { c.updates.earn(updatesPerMessage, c.meter.options.UpdatesBurst) }

// whole returns how long the message is that part begins with, if all of it is there; 0 if not.
func whole(part []byte) int {
	if len(part) < prefixBytes {
		return 0
	}
	n := prefixBytes + int64(binary.BigEndian.Uint32(part[1:]))
	if n > int64(len(part)) {
		return 0
	}
	return int(n)
}

// add takes what part has of the message, and returns how much that is.
func (m *message) add(part []byte) int {
	n := 0
	if m.got < prefixBytes {
		n = copy(m.prefix[m.got:], part)
		if m.got += n; m.got < prefixBytes {
			return n
		}
		m.left = int64(binary.BigEndian.Uint32(m.prefix[1:]))
	}
	more := min(m.left, int64(len(part)-n))
	m.left -= more
	return n + int(more)
}

// complete reports whether all of the message is there.
func (m *message) complete() bool { return m.got == prefixBytes && m.left == 0 }

// outgoing follows what the server sends: a stream that it ends is over.
type outgoing struct{ *conn }

func (outgoing) begin(frame) {}

func (c outgoing) data(_ frame, part []byte) { c.updates.sent(len(part), c.meter.options.UpdatesBurst) }

func (c outgoing) end(f frame) {
	if !f.ends() {
		return
	}
	if m, open := c.streams[f.stream]; open {
		c.release(m)
		delete(c.streams, f.stream)
	}
}
