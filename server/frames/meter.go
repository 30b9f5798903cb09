package frames

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenure-io/tenure/internal/share"
)

// Options bound what connections may pin.
type Options struct {
	// Bytes is shared by the incomplete messages of all connections, and of whatever else takes from it.
	Bytes *share.Pool
	// Answers is shared by the answers that gRPC keeps until they are read, and whatever else takes from it.
	Answers *share.Pool
	// ConnBytesMax is how much of Bytes one connection may take.
	ConnBytesMax int64
	// Callers tells whose a connection is.
	Callers share.Callers
	// Deadline is how long a message of which something came may stay incomplete.
	Deadline time.Duration
	// ResetsMax is how many calls a client may take back within ResetsWindow.
	ResetsMax    int
	ResetsWindow time.Duration
	// ResetsBurst is how many calls a client may take back at once on one connection, and ResetEvery how often one more.
	ResetsBurst int
	ResetEvery  time.Duration
	// UpdatesBurst is how many window updates may come at once that follow from nothing, and UpdateEvery how often one more.
	UpdatesBurst int
	UpdateEvery  time.Duration
	// StreamBytes is what a call counts, besides what came of its first message, until that is complete.
	StreamBytes int64
}

// Cause is why a connection was closed.
type Cause int

// Causes.
const (
	// Budget: it took more than its share.
	Budget Cause = iota
	// Late: a message stayed incomplete.
	Late
	// Resets: too many calls were taken back.
	Resets
	// Unread: answers were not read.
	Unread

	causes
)

// String names the cause, for a metric.
func (c Cause) String() string { return [...]string{"budget", "late", "resets", "unread"}[c] }

// Meter watches connections.
type Meter struct {
	options Options
	closed  [causes]atomic.Int64
	rests   atomic.Int64

	mu    sync.Mutex         // guards conns; taken after a conn's own
	conns map[*conn]struct{} // those that took something, until they are closed
}

// NewMeter returns a meter without connections.
func NewMeter(o Options) *Meter { return &Meter{options: o, conns: map[*conn]struct{}{}} }

// Closed returns how many connections were closed for a cause.
func (m *Meter) Closed(c Cause) int64 { return m.closed[c].Load() }

// Rests returns how often a connection was not read for a while, because its client opened its windows, or took back calls, too
// often.
func (m *Meter) Rests() int64 { return m.rests.Load() }

// Conn is a connection whose client can be told to leave it.
type Conn interface {
	net.Conn
	// Leave tells the client, with the frame GOAWAY, to begin no more calls on the connection; those that go on may end.
	Leave()
}

// Wrap watches a connection of a client, from its first byte on. One goroutine may read from it, and one write. The connection
// also counts answers, with Owe and Pay, and is closed with Cut when they are not read.
func (m *Meter) Wrap(inner net.Conn) Conn {
	c := &conn{leaver: leaver{Conn: inner}, meter: m, caller: m.options.Callers.Of(inner.RemoteAddr()), streams: map[uint32]*message{}, ended: make(chan struct{})}
	c.in.skip = prefaceBytes
	return c
}

// know notes a connection that takes something. gRPC closes the connections that get so far, and others not always.
func (m *Meter) know(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns[c] = struct{}{}
}

// forget forgets a connection.
func (m *Meter) forget(c *conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}

// Run closes connections whose messages stay incomplete, until ctx ends.
func (m *Meter) Run(ctx context.Context) {
	tick := time.NewTicker(max(m.options.Deadline/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, c := range m.late() {
				m.close(c, Late)
			}
		case <-ctx.Done():
			return
		}
	}
}

// late returns the connections with a message that is incomplete for too long.
func (m *Meter) late() []*conn {
	before := time.Now().Add(-m.options.Deadline)
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.conns))
	m.mu.Unlock()
	return slices.DeleteFunc(all, func(c *conn) bool { return !c.late(before) })
}

// close closes a connection for a cause.
func (m *Meter) close(c *conn, cause Cause) {
	m.closed[cause].Add(1)
	_ = c.Close() // Its reader finds out.
}
