package expiry

import (
	"errors"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// tokensLookInterval is how often the leader looks at all tokens. A token is deleted so much later at most.
	tokensLookInterval = 10 * time.Minute
	// tokensRetry is when it looks again if it does not know the clocks of a majority.
	tokensRetry = time.Minute
	// tokensPage is how many tokens are read at a time; between two pages the timers tick.
	tokensPage = 1000
	// tokenKept is how long tokens are kept and shown after their end.
	tokenKept = 7 * 24 * time.Hour
)

// endedTokens is the look at all tokens. It belongs to the goroutine of the leader.
type endedTokens struct {
	after  string        // accessor of the last token that was looked at; empty: none of this look
	lookAt time.Duration // lease time of the next page
	named  int           // tokens of the command under way
}

// endTokens names tokens that ended a week ago by the clocks of a majority of the members.
func (l *leader) endTokens(lease time.Duration) *storev1.Command {
	e := &l.endedTokens
	if lease < e.lookAt {
		return nil
	}
	now, known := l.timers.majorityTime()
	if !known {
		e.lookAt = lease + tokensRetry
		return nil
	}
	s := l.timers.snapshot()
	tokens, err := s.Tokens(e.after, tokensPage)
	if err = errors.Join(err, s.Close()); err != nil {
		e.lookAt = lease + tokensRetry
		l.timers.log.Warn("tokens are not to be read", zap.Error(err))
		return nil
	}
	end := &storev1.EndTokens{Term: l.term.number}
	before := now.Add(-tokenKept).UnixMilli()
	looked := 0
	for _, t := range tokens {
		if len(end.GetTokens()) == commandMax {
			break
		}
		looked++
		e.after = string(t.GetAccessor())
		if t.GetExpireTimeMs() != 0 && t.GetExpireTimeMs() <= before {
			end.Tokens = append(end.Tokens, &storev1.EndedToken{Accessor: t.GetAccessor(), ExpireTimeMs: t.GetExpireTimeMs()})
		}
	}
	if looked < tokensPage && looked == len(tokens) {
		e.after, e.lookAt = "", lease+tokensLookInterval
	}
	if e.named = len(end.GetTokens()); e.named == 0 {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndTokens{EndTokens: end}}
}

// tokensEnded notes that tokens were deleted.
func (l *leader) tokensEnded(*storev1.Result) {
	l.timers.log.Info("tokens deleted that ended a week ago", zap.Int("tokens", l.endedTokens.named), zap.Uint64("term", l.term.number))
}
