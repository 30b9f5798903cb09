package call

import (
	"encoding/binary"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

func TestSecretsOfSessions(t *testing.T) {
	s := &Secrets{}
	numbered := func(n int) (id storage.SessionID) {
		binary.BigEndian.PutUint64(id[:], uint64(n))
		return id
	}
	want := func(what string, n int, hash string, known bool) {
		t.Helper()
		if got, is := s.Of(numbered(n)); string(got) != hash || is != known {
			t.Errorf("%s: got %q, %v, want %q, %v", what, got, is, hash, known)
		}
	}
	ended := func(n int) []byte { id := numbered(n); return id[:] }
	hash := []byte("hash")
	s.Note(numbered(1), hash)
	s.Note(numbered(2), nil)
	s.Note(numbered(3), nil)
	hash[0] = 'x'
	want("one with a secret", 1, "hash", true)
	want("one without", 2, "", true)
	want("another", 4, "", false)
	s.Publish([]*storev1.Event{
		{Kind: &storev1.Event_SessionBegun{SessionBegun: &storev1.SessionBegun{SessionId: ended(2)}}},
		{Kind: &storev1.Event_SessionEnded{SessionEnded: &storev1.SessionEnded{SessionId: ended(1)}}},
	})
	want("one that ended", 1, "", false)
	want("one that did not", 2, "", true)
	s.refused(&storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED, SessionId: ended(2)})
	want("one with another holder", 2, "", true)
	s.refused(&storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED, SessionId: ended(2)})
	want("one that a command found ended", 2, "", false)
	s.refused(&storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND, SessionId: ended(3)})
	want("one that a command did not find", 3, "", false)
	s.refused(&storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED})
	for n := range secretsMax + 1 {
		s.Note(numbered(n), nil)
	}
	want("the last of many", secretsMax, "", true)
	want("the first of too many", 0, "", false)

	s = nil
	s.Note(numbered(1), nil)
	s.Publish([]*storev1.Event{{Kind: &storev1.Event_SessionEnded{SessionEnded: &storev1.SessionEnded{SessionId: ended(1)}}}})
	s.refused(&storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED, SessionId: ended(1)})
	want("one that remembers nothing", 1, "", false)
}
