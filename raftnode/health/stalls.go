package health

import (
	"fmt"
	"sync"
	"time"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

const (
	// stallMin is how long a stall lasts that the status reports; shorter ones come and go with a burst of writes.
	stallMin = time.Second
	// stallShown is for how long the status reports one after its end.
	stallShown = 5 * time.Minute
)

// Stalls follows how the state machine's store holds writes back. It outlives the store, which a snapshot replaces.
type Stalls struct {
	mu    sync.Mutex // guards what follows
	count uint64
	began time.Time // of the one under way; zero: there is none
	took  time.Duration
	// last is how long the last one of at least stallMin took, lastEnd when it ended.
	last    time.Duration
	lastEnd time.Time
}

// Begin notes that a stall begins. It is called with locks of the store held, and does not block.
func (s *Stalls) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.began = time.Now()
}

// End notes that it ends, in the same way.
func (s *Stalls) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Since(s.began)
	s.took += took
	s.began = time.Time{}
	if took >= stallMin {
		s.last, s.lastEnd = took, time.Now()
	}
}

// Total returns how many there were, how long they took together, and whether one is under way.
func (s *Stalls) Total() (count uint64, took time.Duration, stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stalled = !s.began.IsZero(); stalled {
		return s.count, s.took + time.Since(s.began), true
	}
	return s.count, s.took, false
}

// alarm returns the alarm of a stall that is under way, or ended a short time ago.
func (s *Stalls) alarm(member uint64) []Alarm {
	s.mu.Lock()
	defer s.mu.Unlock()
	var message string
	switch {
	case !s.began.IsZero() && time.Since(s.began) >= stallMin:
		message = fmt.Sprintf("The state of this member has taken no writes for %v: its disk writes or merges files more slowly than "+
			"they are filled, or not at all.", time.Since(s.began).Round(time.Second))
	case s.last > 0 && time.Since(s.lastEnd) < stallShown:
		message = fmt.Sprintf("The state of this member took no writes for %v, until %v ago: its disk wrote or merged files more slowly "+
			"than they were filled.", s.last.Round(time.Second), time.Since(s.lastEnd).Round(time.Second))
	default:
		return nil
	}
	return []Alarm{{Name: AlarmWriteStall, Member: member, Message: message}}
}

// slowWrite returns the alarm of a write that has been under way for long, though nothing waits for it yet.
func (h *Watch) slowWrite() []Alarm {
	oldest := h.m.Guard.OldestWrite()
	if oldest < datadir.SlowWrite {
		return nil
	}
	return []Alarm{{Name: AlarmSlowDisk, Member: h.m.ID, Message: fmt.Sprintf(
		"The disk of this member is slow: a write or sync of a file has been running for %v.", oldest.Round(time.Second))}}
}
