package identity

import (
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/health"
)

const (
	// termJumpMax is how far a message's term may be ahead of this member's. So many elections nobody holds; a term near
	// the largest number would leave none for the next ones.
	termJumpMax = 1 << 32
	// termJumpShown is for how long the alarm stands after the last one.
	termJumpShown = 15 * time.Minute
)

// termJumps refuses what comes in a term that no cluster has reached, and raises the alarm.
type termJumps struct {
	n *Self

	mu   sync.Mutex // guards what follows
	at   time.Time  // of the last one; zero: there was none
	from uint64
	term uint64
}

// refuse tells whether a member speaks in a term too far ahead of this one's.
func (j *termJumps) refuse(from, term uint64) bool {
	own := j.n.m.Lead().Term
	if !farAhead(own, term) {
		return false
	}
	j.n.m.TermJumps.Inc()
	j.mu.Lock()
	first := time.Since(j.at) > termJumpShown
	j.at, j.from, j.term = time.Now(), from, term
	j.mu.Unlock()
	if first {
		j.n.log.Error("a message of a term that no cluster reaches was refused", zap.Uint64("from", from),
			zap.Uint64("message_term", term), zap.Uint64("term", own))
	}
	return true
}

// farAhead tells whether a term is further ahead of a member's own than any cluster gets.
func farAhead(own, term uint64) bool { return term > own && term-own > termJumpMax }

// alarm tells of the last one.
func (j *termJumps) alarm() []health.Alarm {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.at.IsZero() || time.Since(j.at) > termJumpShown {
		return nil
	}
	return []health.Alarm{{Name: health.AlarmTermJump, Member: j.from, Message: fmt.Sprintf(
		"This member refused raft messages of term %d that member %x sent, or another program in its name: no cluster holds so "+
			"many elections.", j.term, j.from)}}
}
