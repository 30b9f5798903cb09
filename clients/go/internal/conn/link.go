package conn

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// Transport is a connection over which a member answered.
type Transport interface {
	grpc.ClientConnInterface
	// Broken is closed when the connection broke, and after Close.
	Broken() <-chan struct{}
	// Close ends the connection and what is under way on it.
	Close() error
	// Heard returns a number that grows whenever something comes from the member.
	Heard() uint64
	// Ping asks the member for a sign of life, beside all that is under way and without a credential. It returns when the member answers anything, also
	// that it will not, or ctx ends.
	Ping(ctx context.Context)
	// Streams returns how many streams it carries, for which it may ask the member.
	Streams(ctx context.Context) int
}

// Dial connects to a member, and returns when it can be called.
type Dial func(ctx context.Context, address string) (Transport, error)

// Link is a connection in use, for calls; Line is for streams that last. Who got it from a Pool calls Release.
type Link struct {
	Transport

	// Address is the member's.
	Address string

	pool    *Pool
	lines   *lines
	retired chan struct{}
	failed  chan struct{}
	fail    sync.Once
	answers atomic.Uint64

	direct bool // See Direct. Set before it is used.
	vigil  vigil

	users int  // Guarded by pool.mu.
	gone  bool // Not the current link any more; guarded by pool.mu.
}

// Retired is closed when another connection has taken this one's place. What is under way may end; streams should move.
func (l *Link) Retired() <-chan struct{} { return l.retired }

// Fail gives the link up: it gives no good answers. It is closed at once, for all its users.
func (l *Link) Fail() {
	l.fail.Do(func() {
		close(l.failed)
		l.pool.drop(l)
		_ = l.Close() // What matters is that it is not used any more.
	})
}

// Close ends the connection, and those of its lines.
func (l *Link) Close() error {
	l.lines.close()
	return l.Transport.Close()
}

// Answered notes that the member gave a good answer.
func (l *Link) Answered() {
	if l.answers.Add(1) == 1 {
		l.pool.answered()
	}
}

// Answers returns how many good answers the member gave: who waits in vain can tell whether others do, too.
func (l *Link) Answers() uint64 { return l.answers.Load() }

// Release lets the link go. A retired link is closed by its last user.
func (l *Link) Release() { l.pool.release(l) }
