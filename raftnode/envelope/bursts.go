package envelope

import (
	"sync"
	"time"
)

// BurstEvery is how far apart bursts are at least.
const BurstEvery = 100 * time.Millisecond

// Bursts queue commands of a kind that disturbs all others, such as revocations, at most every BurstEvery: the first one immediately, and
// those that come soon after it together, so that one entry has them. Any goroutine may use them.
type Bursts struct {
	queue *Queue
	// ring says that something is queued. It does not block.
	ring func()

	mu    sync.Mutex // guards what follows, and comes before the queue's
	next  time.Time  // when the next burst may be
	armed bool       // commands wait for it
}

// NewBursts returns bursts for a queue. ring is called when something was queued, and must not block.
func NewBursts(queue *Queue, ring func()) *Bursts { return &Bursts{queue: queue, ring: ring} }

// Add queues a marshalled command, now or with the next burst, there before all that are not to be first. It fails as Queue.Add does.
func (b *Bursts) Add(data []byte, first bool) (*Proposal, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !b.armed && !now.Before(b.next) {
		p, err := b.queue.AddTaking(data)
		if err == nil {
			b.next = now.Add(BurstEvery)
			b.ring()
		}
		return p, err
	}
	p, err := b.queue.hold(data, first)
	if err == nil && !b.armed {
		b.armed = true
		time.AfterFunc(b.next.Sub(now), b.burst)
	}
	return p, err
}

// burst queues what waits.
func (b *Bursts) burst() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed, b.next = false, time.Now().Add(BurstEvery)
	b.queue.unhold()
	b.ring()
}
