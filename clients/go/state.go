package tenure

import "slices"

// State is how a session stands, as this process knows.
type State int

// The states of a session.
const (
	// StateConnecting: the session is being opened or resumed.
	StateConnecting State = iota
	// StateConnected: renewals are answered.
	StateConnected
	// StateSuspended: the link is down, the lease is still good. What is held is still held.
	StateSuspended
	// StateJeopardy: the local lease is over, and nobody knows whether the session lives. Nothing held may be believed.
	StateJeopardy
	// StateClosed: it is over; see Cause.
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

// Cause tells why a session is closed.
type Cause string

// Why a session may be closed.
const (
	// CauseNone is that of a session that is not closed.
	CauseNone Cause = ""
	// CauseClosed is Close, by this process.
	CauseClosed Cause = "closed"
	// CauseExpired is the cluster's word that the session ended: its TTL ran out, somebody destroyed it, and so on.
	CauseExpired Cause = "expired"
	// CauseAuthFailed is a wrong secret.
	CauseAuthFailed Cause = "auth_failed"
	// CauseSuperseded is that another process took the session over.
	CauseSuperseded Cause = "superseded"
	// CauseExported is Export, by this process.
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

// OnState tells f the present state, and then each change, in order and one at a time, from a goroutine of the library's.
// f may take its time, and may call anything, such as Close: nothing waits for f. Stop does not wait either: a call that is beginning or under way goes
// on, and is the last. If the session is over there is no more to tell than that, and f is called before OnState returns.
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
