package server

import (
	"time"

	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// SealPage makes a page token as any client can, who learns a cluster's ids from every answer.
func SealPage(cluster, history [16]byte, list string, filters []string, after string) string {
	return call.PageQuery{List: list, Filters: filters}.Token(storage.Applied{ClusterID: cluster, HistoryID: history}, after)
}

// KnownSessions are the sessions that a stream renewed, for tests that give the time.
type KnownSessions struct{ known *knownSessions }

// NewKnownSessions returns those of a new stream.
func NewKnownSessions(sessionsMax int, now func() time.Time) KnownSessions {
	return KnownSessions{newKnownSessions(sessionsMax, now)}
}

// Renew renews a session as a stream does, and reports whether the stream had room for it, and knew it already.
func (k KnownSessions) Renew(id storage.SessionID, ttl time.Duration) (ok, known bool) {
	if _, known = k.known.renewal(id); known {
		return true, true
	}
	if ok, _ = k.known.room(0); ok {
		k.known.add(&expiry.Renewal{ID: id, TTL: ttl})
	}
	return ok, false
}

// Len returns how many there are.
func (k KnownSessions) Len() int { return len(k.known.byID) }
