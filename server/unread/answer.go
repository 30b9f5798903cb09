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

// owed is what the answer counts.
func (a *Answer) owed() int64 { return copies*int64(a.bytes) + callBytes }

// Encode encodes the answer. It counts until the last reference to the buffers is freed.
func (a *Answer) Encode() (mem.BufferSlice, error) {
	data := a.buffer()
	encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*data)[:0], a.message)
	a.message = nil
	*data = encoded
	if err != nil {
		a.Put(data)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(data, a)}, nil
}

// buffer returns an empty buffer in which the answer has room.
func (a *Answer) buffer() *[]byte {
	if a.bytes <= smallBytes {
		if data, ok := small.Get().(*[]byte); ok {
			return data
		}
	}
	data := make([]byte, 0, max(a.bytes, smallBytes))
	return &data
}

// Get is never called: nobody takes buffers from an answer.
func (*Answer) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put takes the answer's buffer back: it is sent, or will not be.
func (a *Answer) Put(data *[]byte) {
	if cap(*data) == smallBytes {
		small.Put(data)
	}
	a.conn.Pay(a.owed())
}
