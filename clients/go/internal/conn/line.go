package conn

import (
	"context"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// LineStreamsMax is how many streams a connection carries at most; a line is one stream, however many waits and watches it carries. A member allows many more, so no stream waits for another one to end.
const LineStreamsMax = 256

// Line is a connection for streams that last, beside the link's own, on which nothing but calls and renewals come and go. Who got it from a Link calls
// Release.
type Line struct {
	Transport

	lines   *lines
	max     int // How many streams it carries.
	streams int // Guarded by lines.mu.
}

// Release notes that a stream has ended.
func (l *Line) Release() { l.lines.release(l) }

// broken reports whether the connection broke.
func (l *Line) broken() bool {
	select {
	case <-l.Broken():
		return true
	default:
		return false
	}
}

// lines are the connections of a link's streams, as many as there is need for.
type lines struct {
	dial func(ctx context.Context) (Transport, error)
	// first is on the link's own connection: for streams where no other connection can be made.
	first *Line

	mu      sync.Mutex // Guards what follows, and the lines' streams.
	more    []*Line
	dialing *dialing // Nil while no connection is being made.
	closed  bool
}

// dialing is the making of a connection, which all wait for who need one.
type dialing struct {
	done chan struct{} // What follows is set before it is closed.
	err  error
	left bool // Whether who made it went away.
}

func newLines(own Transport, dial func(ctx context.Context) (Transport, error)) *lines {
	l := &lines{dial: dial}
	l.first = &Line{Transport: own, lines: l, max: LineStreamsMax}
	return l
}

// Line returns a connection to the link's member for one stream more. Without one the error is a gRPC status, of ctx or UNAVAILABLE.
func (l *Link) Line(ctx context.Context) (*Line, error) { return l.lines.get(ctx) }

func (l *lines) get(ctx context.Context) (*Line, error) {
	for {
		line, making, mine := l.find()
		if line != nil {
			return line, nil
		}
		if making == nil {
			return nil, status.Error(codes.Unavailable, "the connection broke")
		}
		if mine {
			l.make(ctx, making)
		}
		select {
		case <-making.done:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil:
			return nil, status.FromContextError(ctx.Err()).Err()
		case making.err != nil && !making.left:
			return l.onFirst(making.err)
		}
	}
}

// find returns a line with room for a stream, which it counts, or else the making of one: of the caller if it is his. Both are nil when the link is
// closed.
func (l *lines) find() (line *Line, making *dialing, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, false
	}
	l.more = slices.DeleteFunc(l.more, (*Line).broken) // Their streams have ended, or do so now.
	for _, line := range l.more {
		if line.streams < line.max {
			line.streams++
			return line, nil, false
		}
	}
	if l.dialing == nil {
		l.dialing, mine = &dialing{done: make(chan struct{})}, true
	}
	return nil, l.dialing, mine
}

// make makes a connection.
func (l *lines) make(ctx context.Context, making *dialing) {
	dialing, cancel := context.WithTimeout(ctx, dialMax)
	defer cancel()
	go func() { // It ends with this call.
		select {
		case <-l.first.Broken():
			cancel()
		case <-dialing.Done():
		}
	}()
	transport, err := l.dial(dialing)
	most := 0
	if err == nil {
		most = transport.Streams(dialing)
	}
	l.mu.Lock()
	closed := l.closed
	if err == nil && !closed {
		l.more = append(l.more, &Line{Transport: transport, lines: l, max: most})
	}
	l.dialing = nil
	l.mu.Unlock()
	if err == nil && closed {
		_ = transport.Close() // It was never used.
	}
	making.err, making.left = err, ctx.Err() != nil
	close(making.done)
}

// onFirst puts a stream on the link's own connection, if there is room.
func (l *lines) onFirst(cause error) (*Line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.first.streams >= LineStreamsMax {
		return nil, status.Error(codes.Unavailable, errors.Join(errNoLine, cause).Error())
	}
	l.first.streams++
	return l.first, nil
}

// errNoLine says that no connection could be made.
var errNoLine = errors.New("no connection for another stream")

// release notes that a stream has ended. A line that has none any more is closed if another one has room.
func (l *lines) release(line *Line) {
	l.mu.Lock()
	line.streams--
	unused := line != l.first && line.streams == 0 && (line.broken() || slices.ContainsFunc(l.more, func(other *Line) bool {
		return other != line && other.streams < other.max && !other.broken()
	}))
	if unused {
		l.more = slices.DeleteFunc(l.more, func(other *Line) bool { return other == line })
	}
	l.mu.Unlock()
	if unused {
		_ = line.Close() // Nobody uses it.
	}
}

// close ends all lines, but not the link's own connection.
func (l *lines) close() {
	l.mu.Lock()
	l.closed = true
	more := l.more
	l.more = nil
	l.mu.Unlock()
	for _, line := range more {
		_ = line.Close() // Whoever uses it learns that it broke.
	}
}
