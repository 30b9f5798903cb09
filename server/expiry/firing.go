package expiry

import "time"

// timed is what is known of a running timer.
type timed interface {
	// at returns when it runs out, in lease time.
	at() time.Duration
}

// firing takes shots from a wheel to the commands that end what they time. It belongs to the leader's goroutine.
type firing[K comparable, V timed] struct {
	shots *shots[K, V]
	wheel *wheel[K]
	due   []K // filed under a time that has come, oldest first
	named []K // by the command under way
}

func newFiring[K comparable, V timed](s *shots[K, V], lease time.Duration) *firing[K, V] {
	return &firing[K, V]{shots: s, wheel: newWheel[K](lease)}
}

// gather files what is new and looks at what is due.
func (f *firing[K, V]) gather(lease time.Duration) {
	for _, k := range f.shots.fresh.take() {
		if v, ok := f.shots.get(k); ok {
			f.wheel.file(v.at(), k)
		}
	}
	f.wheel.due(lease, func(k K) {
		switch v, ok := f.shots.get(k); {
		case ok && v.at() > lease:
			f.wheel.file(v.at(), k)
		case ok:
			f.due = append(f.due, k)
		}
	})
}

// name calls add with everything that the next command names, and reports whether there is any.
func (f *firing[K, V]) name(lease time.Duration, add func(K, V)) bool {
	f.named = f.named[:0]
	n := 0
	for _, k := range f.due {
		if len(f.named) >= commandMax {
			break
		}
		n++
		switch v, ok := f.shots.get(k); {
		case ok && v.at() > lease: // extended by a stall
			f.wheel.file(v.at(), k)
		case ok:
			f.named = append(f.named, k)
			add(k, v)
		}
	}
	f.due = append(f.due[:0:0], f.due[n:]...)
	return len(f.named) > 0
}

// ended forgets what the command ended; most was told of before, by Publish.
func (f *firing[K, V]) ended() {
	for _, k := range f.named {
		f.shots.end(k)
	}
	f.named = f.named[:0]
}

// failed takes back what the command named, so that it is named again.
func (f *firing[K, V]) failed() { f.due = append(f.due, f.named...) }
