package tenure

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
