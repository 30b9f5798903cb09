package machine

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// takeOverSession gives a session to another process instance: its epoch rises, and every hold goes on under a new
// lock_index and token, so that what the old instance still believes in is stale.
func (c sessionVerbs) takeOverSession(t *storev1.TakeOverSession) (*storev1.TakeOverSessionResult, error) {
	s, err := c.session(&storev1.SessionRef{SessionId: t.GetSessionId()})
	if err != nil {
		return nil, err
	}
	if len(t.GetInstanceId()) > instanceBytesMax {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_INSTANCE_ID_TOO_LONG)
	}
	r := s.record
	if tookOver(r, t) {
		return &storev1.TakeOverSessionResult{Epoch: r.GetEpoch()}, nil
	}
	if t.GetReplacesEpoch() != r.GetEpoch() {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH,
			storev1.FailureDetail_FAILURE_DETAIL_EPOCH_DIFFERS, s.id, r.GetEpoch(), t.GetReplacesEpoch())
		f.Failure.SessionId = s.id[:]
		f.Failure.Actual = r.GetEpoch()
		return nil, f
	}
	if err = c.keeper.BuryWindow(s.id, r.GetEpoch()); err != nil {
		return nil, err
	}
	r = proto.CloneOf(r)
	s.record = r
	r.Epoch++
	r.EpochRevision = c.revision
	r.InstanceId = t.GetInstanceId()
	r.PeerAddress = t.GetPeerAddress()
	value, err := layout.Encode(r)
	if err != nil {
		return nil, err
	}
	c.rows.Set(layout.SessionRow(layout.RowSession, s.id), value)
	taken := &storev1.SessionTakenOver{SessionId: s.id[:], Epoch: r.GetEpoch(), InstanceId: r.GetInstanceId()}
	if c.saysWhose() {
		taken.Name, taken.Node, taken.Principal = r.GetName(), r.GetNode(), r.GetPrincipal()
	}
	c.emit(&storev1.Event{Kind: &storev1.Event_SessionTakenOver{SessionTakenOver: taken}})
	all := &endingSession{session: s}
	if err = c.gatherObjects(all); err != nil {
		return nil, err
	}
	for _, o := range all.holds {
		if err := c.renewHold(s, o); err != nil {
			return nil, err
		}
	}
	c.touched, c.isTouched = nil, nil // Every hold was replaced by its like, so nothing came free for those who wait.
	return &storev1.TakeOverSessionResult{Epoch: r.GetEpoch()}, nil
}

// tookOver says whether a takeover has been done already, by the same instance: its answer was lost, and it may have it
// again. An instance without id cannot be told from another.
func tookOver(r *storev1.SessionRecord, t *storev1.TakeOverSession) bool {
	return t.GetReplacesEpoch() > 0 && r.GetEpoch() == t.GetReplacesEpoch()+1 &&
		len(t.GetInstanceId()) > 0 && bytes.Equal(r.GetInstanceId(), t.GetInstanceId())
}

// renewHold ends a hold and makes a new one of it in the same step; nobody can come between.
func (c sessionVerbs) renewHold(s session, o layout.Listed) error {
	l, h, err := c.locks.listedHold(s.id, o)
	if err != nil {
		return err
	}
	ask := request{session: s, owner: h.GetOwner(), mode: h.GetMode(), permits: h.GetPermits(), limit: l.head.GetLimit()}
	ask.remade = true
	how := ending{
		cause: storev1.HoldEndCause_HOLD_END_CAUSE_TAKEN_OVER, released: true, keyFollows: true,
		headFollows: c.state.ClusterVersion >= layout.Version2, // The grant saves it.
	}
	if err = c.locks.endHold(l, h, how); err != nil {
		return err
	}
	if _, err = c.locks.grant(l, ask); err != nil {
		return err
	}
	if ask.mode != storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		return nil
	}
	return c.keys.moveKey(o.Name, l.head, storev1.KeyChange_KEY_CHANGE_GRANTED)
}
