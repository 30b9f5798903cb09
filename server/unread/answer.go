package unread

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

const (
	// copies is how often an answer is there for a while: as the message that it was, and as what is sent.
	copies = 2
	// callBytes is what an answer counts beside its own bytes: gRPC keeps the call until the answer is sent.
	callBytes = 2 << 10
	// smallBytes is the size of the buffers that are used again. gRPC counts references only to buffers above 1 024 bytes.
	smallBytes = 2 << 10
)

// Conn is a connection that answers are sent on. Its methods may be called by any goroutine, also after it was closed.
type Conn interface {
	// Owe counts bytes of an answer, and reports false if they are more than the caller's share.
	Owe(bytes int64) bool
	// Pay says that so many of them are sent, or dropped.
	Pay(bytes int64)
}

// small has buffers for answers that are small.
var small = sync.Pool{New: func() any {
	data := make([]byte, 0, smallBytes)
	return &data
}}

// Answer is an answer that counts until it is sent. It is encoded once, with Encode.
type Answer struct {
	message proto.Message
	bytes   int
	conn    Conn
}

// New returns the answer that a message is, or reports false if it is more than the caller's share.
func New(conn Conn, message proto.Message) (*Answer, bool) {
	a := &Answer{message: message, bytes: proto.Size(message), conn: conn}
	return a, conn.Owe(a.owed())
}

// Holder is a connection of answers that are not encoded yet. Its methods may be called by any goroutine, also after it was closed.
type Holder interface {
	// Hold counts bytes of an answer until release is called, or reports false if they are more than the caller's share, or the connection
	// is closed.
	Hold(bytes int64) (release func(), ok bool)
}

// Hold counts an answer that is sent together with others, until release is called. It reports false if that is more than the caller's share,
// or the connection is closed: that of a line may be, long before the line has ended and dropped its answers.
func Hold(conn Holder, message proto.Message) (release func(), ok bool) {
	return conn.Hold((&Answer{bytes: proto.Size(message)}).owed())
}

// owed is what the answer counts.
func (a *Answer) owed() int64 { return copies*int64(a.bytes) + callBytes }

// Encode encodes the answer. It counts until the last reference to the buffers is freed.
func (a *Answer) Encode() (mem.BufferSlice, error) {
	data := bufferOf(a.bytes)
	encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(*data, a.message)
	a.message = nil
	*data = encoded
	if err != nil {
		a.Put(data)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(data, a)}, nil
}

// bufferOf returns an empty buffer in which so many bytes have room.
func bufferOf(size int) *[]byte {
	if size <= smallBytes {
		if data, ok := small.Get().(*[]byte); ok {
			*data = (*data)[:0]
			return data
		}
	}
	data := make([]byte, 0, max(size, smallBytes))
	return &data
}

// reuse takes a buffer back that is of no use any more.
func reuse(data *[]byte) {
	if cap(*data) == smallBytes {
		small.Put(data)
	}
}

// Get is never called: nobody takes buffers from an answer.
func (*Answer) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put takes the answer's buffer back: it is sent, or will not be.
func (a *Answer) Put(data *[]byte) {
	reuse(data)
	a.conn.Pay(a.owed())
}
