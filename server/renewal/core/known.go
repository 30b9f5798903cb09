package core

import (
	"maps"
	"slices"
	"time"

	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

const (
	// knownSweepMin is from how many sessions on a stream forgets those that it has not renewed for long.
	knownSweepMin = 1024
	// knownSweepInterval is how often a stream looks for such sessions at most, while it is full.
	knownSweepInterval = time.Second
	// knownIdleMin is how long at least a session may go without a renewal before the stream forgets it; twice its TTL if
	// that is longer, and knownIdleNoTTL without TTL.
	knownIdleMin   = 30 * time.Second
	knownIdleNoTTL = time.Hour
)

// knownSessions are the sessions that a stream renewed: who brought what a session needs once need not bring it again.
// There are at most sessionsMax, and, however many a stream renews in its life, at most about twice those that it still
// renews.
type knownSessions struct {
	sessionsMax int

	byID    map[storage.SessionID]*knownSession
	sweepAt int       // how many sessions make it look for idle ones
	swept   time.Time // when it did
}

// knownSession is what a stream knows of a session.
type knownSession struct {
	ref     expiry.Ref
	shown   []byte // SHA-256 of the secret that a renewal showed; nil for none
	ttl     time.Duration
	renewed time.Time // when the last renewal came
}

func newKnownSessions(sessionsMax int) *knownSessions {
	return &knownSessions{
		sessionsMax: sessionsMax,
		byID:        map[storage.SessionID]*knownSession{},
		sweepAt:     min(knownSweepMin, sessionsMax),
	}
}

// renewal returns where a session is, if a renewal of it passed before.
func (k *knownSessions) renewal(id storage.SessionID, now time.Time) (expiry.Ref, bool) {
	s, known := k.byID[id]
	if !known {
		return expiry.Ref{}, false
	}
	s.renewed = now
	return s.ref, true
}

// has reports whether a renewal of a session passed before.
func (k *knownSessions) has(id storage.SessionID) bool { return k.byID[id] != nil }

// room reports whether the stream may renew so many sessions more. It returns the sessions that it forgot for that.
func (k *knownSessions) room(more int, now time.Time) (ok bool, forgotten []storage.SessionID) {
	if len(k.byID)+more < k.sweepAt {
		return true, nil
	}
	if now.Sub(k.swept) >= knownSweepInterval {
		k.swept = now
		for id, s := range k.byID {
			if now.Sub(s.renewed) > s.idleMax() {
				delete(k.byID, id)
				forgotten = append(forgotten, id)
			}
		}
		k.sweepAt = min(max(2*len(k.byID), knownSweepMin), k.sessionsMax)
	}
	return len(k.byID)+more < k.sessionsMax, forgotten
}

// idleMax is how long the session may go without a renewal.
func (s *knownSession) idleMax() time.Duration {
	if s.ttl == 0 {
		return knownIdleNoTTL
	}
	return max(2*s.ttl, knownIdleMin)
}

// add notes the session of a renewal that passed. It reports whether it is new.
func (k *knownSessions) add(r *expiry.Renewal, now time.Time) bool {
	s, known := k.byID[r.ID]
	if !known {
		s = &knownSession{renewed: now, shown: r.Shown}
		k.byID[r.ID] = s
	}
	s.ref, s.ttl = r.Ref, r.TTL
	return !known
}

// remove forgets a session.
func (k *knownSessions) remove(id storage.SessionID) { delete(k.byID, id) }

// all returns all sessions.
func (k *knownSessions) all() []storage.SessionID { return slices.Collect(maps.Keys(k.byID)) }
