package mode

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// validFor is for how long the mode is known that was asked for, and that it was asked for in vain.
const validFor = time.Second

// Policies for requests that no rule is about, in Consul's words.
const (
	policyAllow = "allow"
	policyDeny  = "deny"
)

// Seen is what is known of the mode. Its zero value knows nothing. Its methods may be called by any goroutine.
type Seen struct {
	mu      sync.Mutex // guards what follows
	last    tenurev1.AuthMode
	at      time.Time // when it was said
	failed  time.Time // when it was last asked for without an answer, which nobody would have got
	refused time.Time // when it was last refused to a caller that shows nothing of itself
	call    *call     // under way; nil if there is none
}

// call asks for the mode.
type call struct {
	ended   chan struct{}
	refused bool // once it has ended: others may be told
}

// Saw remembers the mode.
func (s *Seen) Saw(mode tenurev1.AuthMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.at = mode, time.Now()
}

// Policy returns what becomes of requests that no rule is about: they are refused only where rules are enforced. If need be, it asks for the mode, or
// waits for a call that does so, for so long at most. A mode that is not known is the last one, or else says allow, as a cluster without rules. A member
// tells nothing to callers that are anonymous; they are told what others were.
func (s *Seen) Policy(
	ctx context.Context, patience time.Duration, anonymous bool, asks func(context.Context) (tenurev1.AuthMode, error),
) string {
	c, own := s.begin(anonymous, false)
	if c == nil {
		return s.Last()
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for c != nil && !own {
		select {
		case <-c.ended:
			c, own = s.begin(anonymous, c.refused)
		case <-asking.Done():
			return s.Last()
		}
	}
	if c != nil {
		mode, err := asks(asking)
		if err == nil {
			s.Saw(mode)
		}
		s.end(c, anonymous, err, ctx.Err() != nil)
	}
	return s.Last()
}

// begin returns a call for the mode, and whether it is to be made, or is under way. It is nil if there is no need to ask. One that asks alone does not wait
// for others.
func (s *Seen) begin(anonymous, alone bool) (c *call, own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case time.Since(s.at) < validFor, time.Since(s.failed) < validFor, anonymous && time.Since(s.refused) < validFor:
		return nil, false
	case alone:
		return &call{ended: make(chan struct{})}, true
	case s.call != nil:
		return s.call, false
	}
	s.call = &call{ended: make(chan struct{})}
	return s.call, true
}

// end ends a call, which has failed unless err is nil. If its caller has gone, that says nothing.
func (s *Seen) end(c *call, anonymous bool, err error, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.call == c {
		s.call = nil
	}
	switch code := status.Code(err); {
	case err == nil, gone:
	case code == codes.Unavailable, code == codes.DeadlineExceeded:
		s.failed = time.Now()
	default:
		c.refused = true
		if anonymous {
			s.refused = time.Now()
		}
	}
	close(c.ended)
}

// Last is Policy with the last mode that is known: it does not ask.
func (s *Seen) Last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == tenurev1.AuthMode_AUTH_MODE_ENFORCE {
		return policyDeny
	}
	return policyAllow
}
