package line

import (
	"context"
	"sync"
)

// credit is what a call may send ahead of its client.
type credit struct {
	more chan struct{} // one slot: something was added since somebody looked

	mu       sync.Mutex // guards what follows; a leaf
	messages int64
	bytes    int64
}

func newCredit(messages uint32, bytes uint64) *credit {
	c := &credit{more: make(chan struct{}, 1)}
	c.add(messages, bytes)
	return c
}

// add gives more. What is above the bounds counts as that.
func (c *credit) add(messages uint32, bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = min(c.messages+int64(messages), creditMessagesMax)
	c.bytes = min(c.bytes+int64(min(bytes, creditBytesMax)), creditBytesMax)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// enough reports whether a message may be sent, of any size: the last one may exceed the bytes.
func (c *credit) enough() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages > 0 && c.bytes > 0
}

// spend takes what a message needs, for which there was enough.
func (c *credit) spend(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages--
	c.bytes -= int64(bytes)
}

// await waits until there is enough.
func (c *credit) await(ctx context.Context) error {
	for !c.enough() {
		select {
		case <-c.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
