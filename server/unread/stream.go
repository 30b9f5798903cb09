package unread

import (
	"context"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// aheadBytes is how much of a stream may be unsent before whoever writes it must wait.
const aheadBytes = 64 << 10

// Stream is what is sent on a stream and not yet taken by the client. One goroutine sends; the others' methods are safe.
type Stream struct {
	conn Conn          // nil: inside this process, nothing counts
	sent chan struct{} // one slot: something was sent since somebody looked

	mu     sync.Mutex // guards what follows, and Pay is called under it
	unsent int64      // bytes of buffers that gRPC still has
	owed   int64      // what counts for the caller since the call has ended
}

// NewStream returns a stream on a connection; nil is one inside this process.
func NewStream(conn Conn) *Stream { return &Stream{conn: conn, sent: make(chan struct{}, 1)} }

// Message returns a message as it is sent on the stream: encoded once, by Encode.
func (s *Stream) Message(message any) any {
	switch m := message.(type) {
	case encoded:
		return &Message{data: m.Encoded(), stream: s}
	case proto.Message:
		return &Message{message: m, stream: s}
	default:
		return message
	}
}

// encoded is a message whose bytes many streams share, and nobody changes any more.
type encoded interface{ Encoded() []byte }

// Await waits until little of the stream is unsent: what is not made yet takes no memory.
func (s *Stream) Await(ctx context.Context) error {
	for {
		s.mu.Lock()
		unsent := s.unsent
		s.mu.Unlock()
		if unsent <= aheadBytes {
			return nil
		}
		select {
		case <-s.sent:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// End says that the call has ended, and gives its place to another: what is unsent counts for the caller from now on. It reports
// false if that is more than the caller's share.
func (s *Stream) End() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.unsent == 0 {
		return true
	}
	owed := s.unsent + callBytes
	if !s.conn.Owe(owed) {
		return false
	}
	s.owed = owed
	return true
}

// count adds bytes that gRPC has, or no longer has.
func (s *Stream) count(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent += bytes
	if s.unsent == 0 && s.owed > 0 {
		s.conn.Pay(s.owed)
		s.owed = 0
	}
	if bytes < 0 {
		select {
		case s.sent <- struct{}{}:
		default:
		}
	}
}

// Message is a message of a stream that counts until it is sent.
type Message struct {
	message proto.Message
	data    []byte // encoded before, for many streams
	stream  *Stream
}

// Encode encodes the message into a buffer of its size: those that gRPC has for more than 32 KiB have a mebibyte. From
// then on only its bytes are kept.
func (m *Message) Encode() (mem.BufferSlice, error) {
	message, data := m.message, m.data
	m.message, m.data = nil, nil
	if message == nil && len(data) > smallBytes {
		return m.counted(&data), nil
	}
	size := len(data)
	if message != nil {
		size = proto.Size(message)
	}
	buffer := bufferOf(size)
	if message == nil {
		*buffer = append(*buffer, data...)
		return m.counted(buffer), nil
	}
	encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(*buffer, message)
	if err != nil {
		return nil, err
	}
	*buffer = encoded
	return m.counted(buffer), nil
}

// counted returns a buffer that counts until its last reference is freed.
func (m *Message) counted(data *[]byte) mem.BufferSlice {
	m.stream.count(int64(cap(*data)))
	return mem.BufferSlice{mem.NewBuffer(data, m)}
}

// Get is never called: nobody takes buffers from a message.
func (*Message) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put takes the buffer back: it is sent, or will not be.
func (m *Message) Put(data *[]byte) {
	bytes := int64(cap(*data))
	reuse(data)
	m.stream.count(-bytes)
}
