package expiry

import (
	"errors"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// joinLookInterval is how often the leader looks for join tokens. No event tells of them: they are few, and what a watch
// shows is not about members. A token ends so much later than its time at most.
const joinLookInterval = time.Second

// joinTokenID names a join token.
type joinTokenID struct {
	name   string
	sha256 string
}

// joinTokens are the timers of the join tokens that nobody has used. They belong to the goroutine of the leader.
type joinTokens struct {
	deadlines map[joinTokenID]time.Duration // lease time
	looked    bool
	lookAt    time.Duration // lease time of the next look
}

// endJoinTokens names the tokens whose time ran out. A timer begins, in full, when the leader first sees its token.
func (l *leader) endJoinTokens(lease time.Duration) *storev1.Command {
	j := &l.joinTokens
	if j.looked && lease < j.lookAt {
		return nil
	}
	j.looked, j.lookAt = true, lease+joinLookInterval
	s := l.timers.snapshot()
	tokens, err := s.JoinTokens()
	if err = errors.Join(err, s.Close()); err != nil {
		l.timers.log.Warn("join tokens are not to be read", zap.Error(err))
		return nil
	}
	live := map[joinTokenID]time.Duration{}
	end := &storev1.EndJoinTokens{Term: l.term.number}
	for _, t := range tokens {
		if t.GetMemberId() != 0 {
			continue
		}
		id := joinTokenID{t.Name, string(t.GetTokenSha256())}
		deadline, runs := j.deadlines[id]
		if !runs {
			deadline = l.timers.lease() + ms(t.GetTtlMs())
		}
		live[id] = deadline
		if deadline <= lease && len(end.GetTokens()) < commandMax {
			end.Tokens = append(end.Tokens, &storev1.JoinTokenRef{Name: t.Name, TokenSha256: t.GetTokenSha256()})
		}
	}
	j.deadlines = live
	if len(end.GetTokens()) == 0 {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndJoinTokens{EndJoinTokens: end}}
}

// joinTokensEnded looks again at once: what ended is gone, what was left is named again.
func (l *leader) joinTokensEnded(*storev1.Result) {
	l.joinTokens.looked = false
	l.timers.log.Info("join tokens expired unused", zap.Uint64("term", l.term.number))
}
