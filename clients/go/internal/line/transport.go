package line

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// refusedPause is how long calls are made by themselves after a member had no room for a line.
const refusedPause = 10 * time.Second

// Over returns a Dial whose connections make calls over a line where they can.
func Over(dial conn.Dial) conn.Dial {
	return func(ctx context.Context, address string) (conn.Transport, error) {
		t, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &transport{Transport: t}, nil
	}
}

// transport is a connection with a line.
type transport struct {
	conn.Transport

	streams sync.WaitGroup

	mu      sync.Mutex // Guards what follows; that of a stream may be taken under it.
	current *stream    // Nil: there is none.
	long    []*stream  // For waits and watches.
	noLong  bool       // Whether the member carries none on lines.
	without bool       // Whether the member has no lines, or the connection is closed.
	pause   time.Time  // Until then no line is opened.
}

// Invoke makes a call. One whose context has ended before is not sent.
func (t *transport) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	// Generated code gives one option, that the method's name is known.
	if response, ok := reply.(proto.Message); ok && len(options) <= 1 {
		if c := newCall(ctx, method, args); c != nil && t.join(c) {
			if out := t.await(ctx, c); !out.alone {
				return out.into(response)
			}
		}
	}
	return t.Transport.Invoke(ctx, method, args, reply, options...)
}

// into puts the response of a call where its caller wants it.
func (o *outcome) into(response proto.Message) error {
	if o.err != nil {
		return o.err
	}
	if err := proto.Unmarshal(o.response, response); err != nil {
		return status.Errorf(codes.Internal, "the response on the line: %v", err)
	}
	return nil
}

// join puts a call on the line, and reports whether there was room.
func (t *transport) join(c *call) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed() {
		return false
	}
	if t.current == nil {
		t.current = newStream(t, c.token)
		t.streams.Go(t.current.run)
	}
	return t.current.add(c)
}

// closed reports whether no line is opened now. Call it under mu.
func (t *transport) closed() bool {
	return t.without || !t.pause.IsZero() && time.Now().Before(t.pause)
}

// await waits for the outcome of a call, until ctx ends.
func (t *transport) await(ctx context.Context, c *call) outcome {
	select {
	case <-c.done:
		return c.outcome
	case <-ctx.Done():
		c.stream.leave(c)
		return outcome{err: status.FromContextError(ctx.Err()).Err()}
	}
}

// over takes a stream out of use, and notes how the member refused it.
func (t *transport) over(s *stream, refused codes.Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == s {
		t.current = nil
	}
	t.long = slices.DeleteFunc(t.long, func(other *stream) bool { return other == s })
	switch refused {
	case codes.Unimplemented:
		t.without = true
	case codes.ResourceExhausted:
		t.pause = time.Now().Add(refusedPause)
	default:
	}
}

// Close ends the connection, and waits for its line.
func (t *transport) Close() error {
	t.mu.Lock()
	t.without = true
	t.mu.Unlock()
	err := t.Transport.Close()
	t.streams.Wait()
	return err
}
