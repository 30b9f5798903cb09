package tenure

import "slices"

// State is the state of a session, as this process knows it.
type State int

// The states of a session.
const (
	// StateConnecting: the session is being opened or resumed.
	StateConnecting State = iota
	// StateConnected: renewals are acknowledged.
	StateConnected
	// StateSuspended: the connection is lost, but the lease is valid. Locks are still held.
	StateSuspended
	// StateJeopardy: the local lease has ended, and whether the session is live is unknown. Every Held has ended.
	StateJeopardy
	// StateClosed: the session has ended; see Cause.
	StateClosed
)

// String returns the state's name in capitals.
func (s State) String() string {
	names := []string{"CONNECTING", "CONNECTED", "SUSPENDED", "JEOPARDY", "CLOSED"}
	if s < 0 || int(s) >= len(names) {
		return "UNKNOWN"
	}
	return names[s]
}

// Cause says why a session is closed.
type Cause string

// The causes for which a session is closed.
const (
	// CauseNone: the session is not closed.
	CauseNone Cause = ""
	// CauseClosed: this process closed the session.
	CauseClosed Cause = "closed"
	// CauseExpired: the cluster reported that the session has ended, because its TTL elapsed, another client destroyed it,
	// and so on.
	CauseExpired Cause = "expired"
	// CauseAuthFailed: the secret is wrong.
	CauseAuthFailed Cause = "auth_failed"
	// CauseSuperseded: another process took the session over.
	CauseSuperseded Cause = "superseded"
	// CauseExported: this process exported the session.
	CauseExported Cause = "exported"
)

// err returns the error of calls under a session that was closed so.
func (c Cause) err() error {
	switch c {
	case CauseExpired:
		return ErrSessionExpired
	case CauseAuthFailed:
		return ErrAuth
	case CauseSuperseded:
		return ErrSessionSuperseded
	default:
		return ErrSessionClosed
	}
}

// StateChange is a session's new state.
type StateChange struct {
	State State
	// Cause is set with StateClosed.
	Cause Cause
}

// listener is told of states, in order, from a goroutine of its own.
type listener struct {
	f       func(StateChange)
	pending []StateChange
	wake    chan struct{}
	removed bool
}

// OnState calls f with the current state, and then with each change, in order and one at a time, from a goroutine of
// the library. f can take its time and call any method, such as Close, because the library does not wait for f. stop
// does not wait either: a call that is starting or running continues, and is the last. If the session has already
// ended, f is called once, before OnState returns.
func (s *Session) OnState(f func(StateChange)) (stop func()) {
	s.mu.Lock()
	if s.state == StateClosed {
		present := StateChange{State: s.state, Cause: s.cause}
		s.mu.Unlock()
		f(present)
		return func() {}
	}
	defer s.mu.Unlock()
	return s.listen(f)
}

// listen adds a listener to a session that is not over. Call it under mu.
func (s *Session) listen(f func(StateChange)) (stop func()) {
	l := &listener{f: f, pending: []StateChange{{State: s.state, Cause: s.cause}}, wake: make(chan struct{}, 1)}
	s.listeners = append(s.listeners, l)
	go s.tell(l) // It ends when it has told that the session is over. Nothing waits for it: the listener may wait for anything.
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.removed = true
		s.listeners = slices.DeleteFunc(s.listeners, func(other *listener) bool { return other == l })
		wake(l.wake)
	}
}

// tell hands a listener what is pending, until it is removed, or was told that the session is over.
func (s *Session) tell(l *listener) {
	for {
		s.mu.Lock()
		if l.removed {
			s.mu.Unlock()
			return
		}
		if len(l.pending) > 0 {
			change := l.pending[0]
			l.pending = l.pending[1:]
			s.mu.Unlock()
			l.f(change)
			if change.State == StateClosed {
				return
			}
			continue
		}
		s.mu.Unlock()
		<-l.wake
	}
}

// tellRenewed calls f after renewals, until the session is over. Nothing waits for it, as for tell.
func (s *Session) tellRenewed(f func()) {
	for {
		select {
		case <-s.onRenewed:
			f()
		case <-s.done:
			return
		}
	}
}

// setState changes the state, unless it is that already or the session is over. Call it under mu.
func (s *Session) setState(state State, cause Cause) {
	if s.state == state || s.state == StateClosed {
		return
	}
	s.state, s.cause = state, cause
	for _, l := range s.listeners {
		l.pending = append(l.pending, StateChange{State: state, Cause: cause})
		wake(l.wake)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// wake leaves a note in a channel of length 1.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
