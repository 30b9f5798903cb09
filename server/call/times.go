package call

import (
	"context"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/storage"
)

// timesLeftTimeout bounds how long an answer waits for what only the leader's timers know. It is shown to people: without
// it the answer is still right.
const timesLeftTimeout = time.Second

// ShownTimes is what an answer shows of the leader's timers.
type ShownTimes struct {
	sessions []*tenurev1.Session
	holds    []*tenurev1.Hold
}

// AddSession adds a live session that has a TTL.
func (t *ShownTimes) AddSession(s *tenurev1.Session) {
	if s.GetEnd() == nil && s.GetTtl().AsDuration() > 0 && len(t.sessions) < leader.TimesLeftMax/2 {
		t.sessions = append(t.sessions, s)
	}
}

// AddLock adds the delayed holds of a lock.
func (t *ShownTimes) AddLock(l *tenurev1.Lock) {
	for _, h := range l.GetDelayed() {
		if len(t.holds) < leader.TimesLeftMax/2 {
			t.holds = append(t.holds, h)
		}
	}
}

// LockTimes returns a lock after it has asked the leader how long its delays still run.
func (c *Caller) LockTimes(ctx context.Context, l *tenurev1.Lock) *tenurev1.Lock {
	t := &ShownTimes{}
	t.AddLock(l)
	c.AskTimes(ctx, t)
	return l
}

// SessionTimes returns a session after it has asked the leader how long it lives on.
func (c *Caller) SessionTimes(ctx context.Context, s *tenurev1.Session) *tenurev1.Session {
	t := &ShownTimes{}
	t.AddSession(s)
	c.AskTimes(ctx, t)
	return s
}

// AskTimes asks the leader for what its timers know, where that is another member, and writes it into the answer. A member
// that does not learn it leaves the answer as it is.
func (c *Caller) AskTimes(ctx context.Context, t *ShownTimes) {
	if len(t.sessions)+len(t.holds) == 0 {
		return
	}
	w, _ := c.Relay.Present()
	if w == nil || w.Here() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timesLeftTimeout)
	defer cancel()
	request := &peerv1.TimesLeftRequest{}
	for _, s := range t.sessions {
		id, _ := storage.ParseSessionID(s.GetSessionId()) // It is one of ours.
		request.SessionIds = append(request.SessionIds, id[:])
	}
	for _, h := range t.holds {
		request.Delays = append(request.Delays, &peerv1.HoldName{
			Key: h.GetSequencer().GetKey(), LockIndex: h.GetSequencer().GetLockIndex(),
		})
	}
	began := time.Now()
	answer, err := w.Client.TimesLeft(ctx, request)
	if err != nil {
		err = leader.FromPeer(ctx, err, true)
		c.Log.Debug("the leader does not tell what its timers know", zap.Error(err))
	}
	c.Relay.Count(leader.MethodTimesLeft, err, time.Since(began))
	t.fill(answer)
}

// fill writes what the leader knows into the answer.
func (t *ShownTimes) fill(answer *peerv1.TimesLeftResponse) {
	for i, left := range answer.GetSessions() {
		if i >= len(t.sessions) || left.GetLeftMs() < 0 {
			continue
		}
		t.sessions[i].TtlLeft = durationpb.New(time.Duration(left.GetLeftMs()) * time.Millisecond)
		if ms := left.GetLastRenewalMs(); ms != 0 {
			t.sessions[i].LastRenewalTime = timestamppb.New(time.UnixMilli(ms))
		}
	}
	for i, ms := range answer.GetDelayLeftMs() {
		if i < len(t.holds) && ms >= 0 {
			t.holds[i].DelayLeft = MsToProto(ms)
		}
	}
}

// WithTimer adds what the leader's timers know of a live session.
func (c *Caller) WithTimer(id storage.SessionID, session *tenurev1.Session) *tenurev1.Session {
	left, renewed, ok := c.Timers.SessionLeft(id)
	if !ok || session.GetTtl().AsDuration() == 0 {
		return session
	}
	session.TtlLeft = durationpb.New(max(left, 0))
	if !renewed.IsZero() {
		session.LastRenewalTime = timestamppb.New(renewed)
	}
	return session
}
