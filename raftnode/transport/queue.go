package transport

import (
	"sync"

	raftpb "go.etcd.io/raft/v3/raftpb"
)

// queue holds messages that wait for a stream, within bounds.
type queue struct {
	bytesMax int
	wake     chan struct{} // 1 slot

	mu    sync.Mutex // guards what follows
	down  bool       // nobody will take anything soon
	msgs  []*raftpb.Message
	bytes int
}

func newQueue(bytesMax int) *queue {
	return &queue{bytesMax: bytesMax, wake: make(chan struct{}, 1)}
}

// push adds a message, or reports that it does not fit or is of no use.
func (q *queue) push(m *raftpb.Message) bool {
	size := sizeOf(m)
	q.mu.Lock()
	full := len(q.msgs) >= queueMessagesMax || len(q.msgs) > 0 && q.bytes+size > q.bytesMax
	if q.down || full {
		q.mu.Unlock()
		return false
	}
	q.msgs = append(q.msgs, m)
	q.bytes += size
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take moves the oldest messages to dst, as many as one request carries.
func (q *queue) take(dst []*raftpb.Message) []*raftpb.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for ; n < len(q.msgs); n++ {
		next := sizeOf(q.msgs[n])
		if n > 0 && size+next > batchBytes {
			break
		}
		size += next
	}
	dst = append(dst, q.msgs[:n]...)
	rest := copy(q.msgs, q.msgs[n:])
	clear(q.msgs[rest:])
	q.msgs = q.msgs[:rest]
	q.bytes -= size
	return dst
}

// setDown says whether messages are of use. What waits for a stream that is gone is dropped; it returns how many.
func (q *queue) setDown(down bool) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = down
	if !down {
		return 0
	}
	n := len(q.msgs)
	q.msgs, q.bytes = nil, 0
	return n
}

// sizeOf is about what a message takes on the wire.
func sizeOf(m *raftpb.Message) int {
	size := messageOverhead + len(m.GetContext())
	for _, e := range m.GetEntries() {
		size += messageOverhead + len(e.GetData())
	}
	return size
}

// urgent tells whether a message must not wait behind entries.
func urgent(m *raftpb.Message) bool {
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgAppResp:
		return false
	default:
		return true
	}
}
