package datadir

import (
	"sync"
	"time"
)

// SlowWrite is how long one write or sync of a file takes on a disk that is in trouble.
const SlowWrite = 5 * time.Second

// underWay knows the writes that have begun and not ended, to find the disk that is slow before anything waits for it: the
// state machine writes in the background, and Apply goes on for a while when that hangs.
type underWay struct {
	mu    sync.Mutex // guards what follows
	next  uint64
	begun map[uint64]time.Time
	slow  uint64 // writes that ended, and took SlowWrite or longer
}

// begin notes the beginning of a write; the caller calls what it returns when the write has ended.
func (u *underWay) begin() (end func()) {
	began := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.begun == nil {
		u.begun = map[uint64]time.Time{}
	}
	number := u.next
	u.next++
	u.begun[number] = began
	return func() {
		took := time.Since(began)
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.begun, number)
		if took >= SlowWrite {
			u.slow++
		}
	}
}

// SlowWrites returns how many writes and syncs of files took SlowWrite or longer, those under way included.
func (g *Guard) SlowWrites() uint64 {
	u := &g.underWay
	u.mu.Lock()
	defer u.mu.Unlock()
	slow := u.slow
	for _, began := range u.begun {
		if time.Since(began) >= SlowWrite {
			slow++
		}
	}
	return slow
}

// OldestWrite returns for how long the oldest write or sync of a file that has not ended has been under way; 0 if there is
// none.
func (g *Guard) OldestWrite() time.Duration {
	u := &g.underWay
	u.mu.Lock()
	defer u.mu.Unlock()
	var oldest time.Duration
	for _, began := range u.begun {
		oldest = max(oldest, time.Since(began))
	}
	return oldest
}
