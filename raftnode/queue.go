package raftnode

import (
	"sync"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// mailbox collects events for the loop. It is unbounded on purpose: raft bounds the storage work and the proposals that
// cause the events, and a bounded channel between loop and storage could deadlock.
type mailbox struct {
	mu     sync.Mutex // guards events
	events []core.Event
	wake   chan struct{} // 1 slot
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(ev ...core.Event) {
	m.mu.Lock()
	m.events = append(m.events, ev...)
	m.mu.Unlock()
	m.ring()
}

// ring wakes the loop; one pending call is enough for all.
func (m *mailbox) ring() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// drain moves the events to the end of dst.
func (m *mailbox) drain(dst []core.Event) []core.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.events...)
	clear(m.events)
	m.events = m.events[:0]
	return dst
}

// workQueue hands storage work from the loop to one goroutine, in order. Raft bounds what can be in it.
type workQueue struct {
	mu     sync.Mutex // guards what follows
	ready  *sync.Cond // signalled when take may go on
	idle   *sync.Cond // signalled when nothing is queued or being done
	work   turn.Work
	busy   bool // taken work is being done
	closed bool
}

func newWorkQueue() *workQueue {
	q := &workQueue{}
	q.ready = sync.NewCond(&q.mu)
	q.idle = sync.NewCond(&q.mu)
	return q
}

// push adds work. What nobody waits for (a commit index alone) lies until something else comes.
func (q *workQueue) push(work []*raftpb.Message) {
	if len(work) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.work.Add(work)
	if q.work.Urgent() {
		q.ready.Signal()
	}
}

// take waits for urgent work and returns all there is, in dst. It returns false once the queue is closed.
func (q *workQueue) take(dst []*raftpb.Message) ([]*raftpb.Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if !q.work.Urgent() {
		q.idle.Broadcast()
	}
	for !q.work.Urgent() && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		q.idle.Broadcast()
		return nil, false
	}
	q.busy = true
	return q.work.Take(dst), true
}

// waitIdle returns when everything pushed so far is done, or the queue is closed.
func (q *workQueue) waitIdle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for (q.busy || q.work.Urgent()) && !q.closed {
		q.idle.Wait()
	}
}

// close ends take and waitIdle; what is queued is dropped, as a crash would.
func (q *workQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
	q.idle.Broadcast()
}
