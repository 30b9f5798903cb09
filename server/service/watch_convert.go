package service

import (
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/query"
)

// previousValues finds values before a change.
type previousValues func(*storev1.PreviousValue) (*storev1.Event, bool, error)

// eventConverter makes events of the API of those of the store.
type eventConverter struct {
	history  [16]byte
	keysOnly bool
	previous previousValues // nil: not asked for
}

// convert returns an event as the API shows it.
func (c *eventConverter) convert(e *storev1.Event) (*tenurev1.Event, error) {
	out := &tenurev1.Event{Revision: e.GetRevision(), Index: e.GetIndex(), Time: call.TimeToProto(e.GetWallTimeMs())}
	var err error
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		out.Type = putEventType(kind.KeyPut.GetChange())
		out.Key = kind.KeyPut.GetKey()
		out.Kv = c.keyValue(e, kind.KeyPut)
		out.Previous, err = c.previousOf(kind.KeyPut.GetPrevious())
	case *storev1.Event_KeyDeleted:
		out.Type = tenurev1.EventType_EVENT_TYPE_DELETED
		out.Key = kind.KeyDeleted.GetKey()
		out.Unused = kind.KeyDeleted.GetUnused()
		out.Previous, err = c.previousOf(kind.KeyDeleted.GetPrevious())
	case *storev1.Event_SessionBegun, *storev1.Event_SessionTakenOver, *storev1.Event_SessionEnded:
		addSessionEvent(out, e)
	default:
		if !catalog.AddEvent(out, e) && !query.AddEvent(out, e) {
			c.addLockEvent(out, e)
		}
	}
	return out, err
}

// putEventType says what moved a key.
func putEventType(change storev1.KeyChange) tenurev1.EventType {
	switch change {
	case storev1.KeyChange_KEY_CHANGE_GRANTED:
		return tenurev1.EventType_EVENT_TYPE_HOLDER_GRANTED
	case storev1.KeyChange_KEY_CHANGE_RELEASED:
		return tenurev1.EventType_EVENT_TYPE_HOLDER_RELEASED
	case storev1.KeyChange_KEY_CHANGE_LOST:
		return tenurev1.EventType_EVENT_TYPE_HOLDER_LOST
	default:
		return tenurev1.EventType_EVENT_TYPE_PUT
	}
}

// keyValue returns a key as an event left it.
func (c *eventConverter) keyValue(e *storev1.Event, p *storev1.KeyPut) *tenurev1.KeyValue {
	kv := &tenurev1.KeyValue{
		Key:            p.GetKey(),
		Value:          p.GetValue(),
		Flags:          p.GetFlags(),
		CreateRevision: p.GetCreateRevision(),
		ModRevision:    e.GetRevision(),
		Version:        p.GetVersion(),
		LockIndex:      p.GetLockIndex(),
		SessionId:      call.SessionText(p.GetSessionId()),
		BoundSessionId: call.SessionText(p.GetBoundSessionId()),
		CreateTime:     call.TimeToProto(p.GetCreateTimeMs()),
		ModTime:        call.TimeToProto(e.GetWallTimeMs()),
	}
	if c.keysOnly {
		kv.Value = nil
	}
	if p.GetCreateRevision() == e.GetRevision() {
		kv.CreateTime = kv.GetModTime()
	}
	return kv
}

// previousOf returns the key before a change, if it is asked for and still known.
func (c *eventConverter) previousOf(p *storev1.PreviousValue) (*tenurev1.KeyValue, error) {
	if p == nil || c.previous == nil {
		return nil, nil
	}
	before, known, err := c.previous(p)
	if err != nil || !known || before.GetKeyPut() == nil {
		return nil, err
	}
	return c.keyValue(before, before.GetKeyPut()), nil
}

// addSessionEvent fills in an event of a session.
func addSessionEvent(out *tenurev1.Event, e *storev1.Event) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_SessionBegun:
		s := kind.SessionBegun
		out.Type = tenurev1.EventType_EVENT_TYPE_SESSION_BEGUN
		out.Session = &tenurev1.Session{
			SessionId:      call.SessionText(s.GetSessionId()),
			Name:           s.GetName(),
			Node:           s.GetNode(),
			Ttl:            call.MsToProto(s.GetTtlMs()),
			Epoch:          1,
			CreateRevision: e.GetRevision(),
			CreateTime:     out.GetTime(),
		}
	case *storev1.Event_SessionTakenOver:
		s := kind.SessionTakenOver
		out.Type = tenurev1.EventType_EVENT_TYPE_SESSION_TAKEN_OVER
		out.Session = &tenurev1.Session{SessionId: call.SessionText(s.GetSessionId()), Epoch: s.GetEpoch()}
	case *storev1.Event_SessionEnded:
		s := kind.SessionEnded
		out.Type = tenurev1.EventType_EVENT_TYPE_SESSION_ENDED
		out.Reason = s.GetReason()
		out.Session = &tenurev1.Session{
			SessionId: call.SessionText(s.GetSessionId()),
			Name:      s.GetName(),
			End: &tenurev1.SessionEnd{
				Cause:         tenurev1.SessionEndCause(s.GetCause()),
				Reason:        s.GetReason(),
				Revision:      e.GetRevision(),
				Time:          out.GetTime(),
				Holds:         s.GetHolds(),
				EphemeralKeys: s.GetEphemeralKeys(),
			},
		}
	}
}

// addLockEvent fills in an event of a lock.
func (c *eventConverter) addLockEvent(out *tenurev1.Event, e *storev1.Event) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_LockQueued:
		q := kind.LockQueued
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED, q.GetKey()
		out.Place = &tenurev1.Place{
			Key:       q.GetKey(),
			Place:     q.GetPlace(),
			Position:  q.GetPosition(),
			SessionId: call.SessionText(q.GetSessionId()),
			Owner:     q.GetOwner(),
			Mode:      call.ModeToProto(q.GetMode()),
			Permits:   q.GetPermits(),
			QueueTime: out.GetTime(),
		}
	case *storev1.Event_LockLeft:
		l := kind.LockLeft
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_LEFT, l.GetKey()
		out.WaitEndCause, out.Reason = tenurev1.WaitEndCause(l.GetCause()), l.GetReason()
		out.Place = &tenurev1.Place{
			Key:       l.GetKey(),
			Place:     l.GetPlace(),
			SessionId: call.SessionText(l.GetSessionId()),
			Owner:     l.GetOwner(),
		}
	case *storev1.Event_LockGranted:
		g := kind.LockGranted
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED, g.GetKey()
		out.Hold = c.hold(holdFacts{g.GetKey(), g.GetLockIndex(), e.GetRevision(), g.GetSessionId()})
		out.Hold.Owner, out.Hold.Mode, out.Hold.Permits = g.GetOwner(), call.ModeToProto(g.GetMode()), g.GetPermits()
		out.Hold.SessionName, out.Hold.GrantTime = g.GetSessionName(), out.GetTime()
	case *storev1.Event_LockReleased:
		r := kind.LockReleased
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED, r.GetKey()
		out.HoldEndCause, out.Reason = call.HoldEndToProto(r.GetCause()), r.GetReason()
		out.Hold = c.hold(holdFacts{r.GetKey(), r.GetLockIndex(), r.GetFencingToken(), r.GetSessionId()})
		out.Hold.Owner, out.Hold.Mode, out.Hold.Permits = r.GetOwner(), call.ModeToProto(r.GetMode()), r.GetPermits()
		out.Hold.SessionName = r.GetSessionName()
	case *storev1.Event_LockLost:
		l := kind.LockLost
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_LOST, l.GetKey()
		out.HoldEndCause, out.Reason = call.HoldEndToProto(l.GetCause()), l.GetReason()
		out.Hold = c.hold(holdFacts{l.GetKey(), l.GetLockIndex(), l.GetFencingToken(), l.GetSessionId()})
		out.Hold.Owner, out.Hold.Mode, out.Hold.Permits = l.GetOwner(), call.ModeToProto(l.GetMode()), l.GetPermits()
		out.Hold.SessionName, out.Hold.LostTime = l.GetSessionName(), out.GetTime()
	case *storev1.Event_LockDelayBegun:
		d := kind.LockDelayBegun
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN, d.GetKey()
		out.Hold = c.hold(holdFacts{d.GetKey(), d.GetLockIndex(), d.GetFencingToken(), d.GetSessionId()})
		out.Hold.Owner, out.Hold.SessionName = d.GetOwner(), d.GetSessionName()
		out.Hold.DelayLeft = call.MsToProto(d.GetDelayMs())
	case *storev1.Event_LockDelayEnded:
		d := kind.LockDelayEnded
		out.Type, out.Key = tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_ENDED, d.GetKey()
		out.Hold = c.hold(holdFacts{d.GetKey(), d.GetLockIndex(), d.GetFencingToken(), nil})
		out.Hold.DelayLeft = durationpb.New(0)
	}
}

// holdFacts name a hold.
type holdFacts struct {
	key                     string
	lockIndex, fencingToken uint64
	sessionID               []byte
}

// hold returns a hold of which only the proof is known.
func (c *eventConverter) hold(f holdFacts) *tenurev1.Hold {
	return &tenurev1.Hold{Sequencer: call.SequencerToProto(&storev1.HoldState{
		Key:          f.key,
		LockIndex:    f.lockIndex,
		SessionId:    f.sessionID,
		FencingToken: f.fencingToken,
	}, c.history)}
}
