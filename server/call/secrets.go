package call

import (
	"bytes"
	"sync"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
)

// secretsMax is how many sessions are remembered. At it, all are forgotten.
const secretsMax = 16 << 10

// Secrets remembers sessions that lived when this member looked at them last, and the hash of the secret of each, which never changes. So
// not every call that acts as a session reads it before the call is ordered. What is remembered may have ended at another member: the state
// machine refuses what is done for such a session. A nil one remembers nothing. Any goroutine may call any method.
type Secrets struct {
	mu    sync.RWMutex // guards known
	known map[storage.SessionID][]byte
}

// Of returns the hash of a session's secret, which is empty if it has none, and whether the session is remembered.
func (s *Secrets) Of(id storage.SessionID) (hash []byte, known bool) {
	if s == nil {
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	hash, known = s.known[id]
	return hash, known
}

// shown reports whether a call may act as a session that is remembered. That is enough where it is ordered: the state machine refuses it if the
// session does not live. secret is the hash of the secret that the call shows.
func (s *Secrets) shown(id storage.SessionID, secret []byte, o *tenurev1.CallOptions) bool {
	hash, known := s.Of(id)
	return known && mayAct(id, hash, secret, o) == nil
}

// Note remembers a session that lives.
func (s *Secrets) Note(id storage.SessionID, hash []byte) {
	if s == nil {
		return
	}
	hash = bytes.Clone(hash) // What it is part of is larger.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= secretsMax {
		s.known = map[storage.SessionID][]byte{}
	}
	s.known[id] = hash
}

// Publish forgets the sessions that ended.
func (s *Secrets) Publish(events []*storev1.Event) {
	for _, e := range events {
		if ended := e.GetSessionEnded(); ended != nil {
			s.forget(ended.GetSessionId())
		}
	}
}

// refused forgets a session for which a command was refused as it does not live.
func (s *Secrets) refused(f *storev1.Failure) {
	switch f.GetReason() {
	case storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED, storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND:
		s.forget(f.GetSessionId())
	default:
	}
}

// forget forgets a session.
func (s *Secrets) forget(raw []byte) {
	id, err := storage.SessionIDFromBytes(raw)
	if err != nil || s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
