package tenure

import (
	"slices"
	"sync"
)

// listeners are the program's functions that are told of a session's states: each of them of every state, in order, from a goroutine of its own.
type listeners struct {
	mu  sync.Mutex // Guards what follows, and what is pending for each listener.
	all []*listener
}

// listener is one of them.
type listener struct {
	f       func(StateChange)
	pending []StateChange
	wake    chan struct{}
	removed bool
}

// add adds one, which is told of the present state first; that must not be CLOSED. stop removes it, and does not wait: a call that is starting or
// running continues, and is the last.
func (ls *listeners) add(f func(StateChange), present StateChange) (stop func()) {
	l := &listener{f: f, pending: []StateChange{present}, wake: make(chan struct{}, 1)}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.all = append(ls.all, l)
	go ls.serve(l) // It ends when it has told that the session is over. Nothing waits for it: the listener may wait for anything.
	return func() { ls.remove(l) }
}

// remove removes one.
func (ls *listeners) remove(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.removed = true
	ls.all = slices.DeleteFunc(ls.all, func(other *listener) bool { return other == l })
	wake(l.wake)
}

// tell tells all of them of a new state, and does not wait for them.
func (ls *listeners) tell(change StateChange) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		l.pending = append(l.pending, change)
		wake(l.wake)
	}
}

// serve hands a listener what is pending, until it is removed, or was told that the session is over.
func (ls *listeners) serve(l *listener) {
	for {
		change, there, removed := ls.take(l)
		switch {
		case removed:
			return
		case !there:
			<-l.wake
			continue
		}
		l.f(change)
		if change.State == StateClosed {
			return
		}
	}
}

// take returns what is pending first for a listener, if anything is, and whether it was removed.
func (ls *listeners) take(l *listener) (change StateChange, there, removed bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.removed || len(l.pending) == 0 {
		return StateChange{}, false, l.removed
	}
	change = l.pending[0]
	l.pending = l.pending[1:]
	return change, true, false
}

// wake leaves a note in a channel of length 1.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
