package expiry

import (
	"sync"
	"time"

	"github.com/tenure-io/tenure/storage"
)

// delayID names a delayed hold.
type delayID struct {
	key   string
	index uint64 // lock_index
}

// delay is what else is known of it.
type delay struct {
	token    uint64
	deadline time.Duration // lease time
}

func (d delay) at() time.Duration { return d.deadline }

// waitID names a place in a queue.
type waitID struct {
	key   string
	place uint64
}

// wait is what else is known of it.
type wait struct {
	session  storage.SessionID
	deadline time.Duration // lease time
}

func (w wait) at() time.Duration { return w.deadline }

// shots are timers that nothing renews: they run out, or what they time is gone before.
type shots[K comparable, V any] struct {
	mu    sync.Mutex // guards live; a leaf but for fresh
	live  map[K]V
	fresh queue[K] // those that no wheel has yet
}

func newShots[K comparable, V any]() *shots[K, V] { return &shots[K, V]{live: map[K]V{}} }

// begin starts a timer. It reports false if it runs already.
func (s *shots[K, V]) begin(k K, v V) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.live[k]; ok {
		return false
	}
	s.live[k] = v
	s.fresh.put(k)
	return true
}

// end stops a timer.
func (s *shots[K, V]) end(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, k)
}

// get returns what is known of a running timer.
func (s *shots[K, V]) get(k K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.live[k]
	return v, ok
}
