package machine

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// heldKeysShown is how many keys the record of an ended session names.
const heldKeysShown = 64

// instanceBytesMax is the longest id of a process instance.
const instanceBytesMax = 64

// session is a live session.
type session struct {
	id     layout.SessionID
	record *storev1.SessionRecord
}

// sessionRecord returns a live session's record, or nil. Nobody may change it.
func (w *Work) sessionRecord(id layout.SessionID) (*storev1.SessionRecord, error) {
	value, ok, err := w.rows.Get(layout.SessionRow(layout.RowSession, id))
	if err != nil || !ok {
		return nil, err
	}
	return w.recent.of(id, value)
}

// recentSession is the record that was read last. Many commands in a row are of one session.
type recentSession struct {
	value  []byte // that the record was read from
	record *storev1.SessionRecord
}

// of decodes the record in a row's value, or returns the last one if the value is the same slice: values never change.
func (s *recentSession) of(id layout.SessionID, value []byte) (*storev1.SessionRecord, error) {
	if len(value) > 0 && len(value) == len(s.value) && &value[0] == &s.value[0] {
		return s.record, nil
	}
	r, err := records.DecodeSession(id, value)
	if err == nil {
		s.value, s.record = value, r
	}
	return r, err
}

// session returns the session that a command acts as, or why it must not.
func (c sessionVerbs) session(ref *storev1.SessionRef) (session, error) {
	id, err := rule.SessionID(ref.GetSessionId())
	if err != nil {
		return session{}, err
	}
	r, err := c.sessionRecord(id)
	if err != nil {
		return session{}, err
	}
	if r == nil {
		return session{}, c.noSession(id)
	}
	if marked, err := c.catalog.Marked(r); err != nil || marked != nil {
		if err == nil {
			err = ended(id)
		}
		return session{}, err
	}
	if epoch := ref.GetEpoch(); epoch != 0 && epoch != r.GetEpoch() {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED, storev1.FailureDetail_FAILURE_DETAIL_SESSION_TAKEN_OVER, id, r.GetEpoch(), epoch)
		if epoch > r.GetEpoch() {
			f = rule.Broken(storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH, storev1.FailureDetail_FAILURE_DETAIL_EPOCH_AHEAD, id, r.GetEpoch(), epoch)
		}
		f.Failure.SessionId = id[:]
		f.Failure.Actual = r.GetEpoch()
		return session{}, f
	}
	return session{id: id, record: r}, nil
}

// noSession tells a session that ended from one that never was, or was forgotten.
func (c sessionVerbs) noSession(id layout.SessionID) error {
	_, known, err := c.rows.Get(layout.SessionRow(layout.RowEndedIndex, id))
	if err != nil {
		return err
	}
	if known {
		return ended(id)
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND,
		storev1.FailureDetail_FAILURE_DETAIL_SESSION_MISSING, id)
	f.Failure.SessionId = id[:]
	return f
}

// ended returns the failure of a session that has ended.
func ended(id layout.SessionID) error {
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED,
		storev1.FailureDetail_FAILURE_DETAIL_SESSION_ENDED, id)
	f.Failure.SessionId = id[:]
	return f
}

// createSession opens a session under an id that was drawn before.
func (c sessionVerbs) createSession(s *storev1.CreateSession) (*storev1.Result, error) {
	id, err := rule.SessionID(s.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err = checkNewSession(s); err != nil {
		return nil, err
	}
	if err = c.checkSessionRoom(id); err != nil {
		return nil, err
	}
	if err = c.needSpace(); err != nil {
		return nil, err
	}
	r := &storev1.SessionRecord{
		FormatVersion:  layout.RecordFormat,
		Name:           s.GetName(),
		Node:           s.GetNode(),
		Metadata:       s.GetMetadata(),
		TtlMs:          s.GetTtlMs(),
		LockDelayMs:    s.GetLockDelayMs(),
		Behavior:       s.GetBehavior(),
		SecretSha256:   s.GetSecretSha256(),
		PeerAddress:    s.GetPeerAddress(),
		Epoch:          1,
		InstanceId:     s.GetInstanceId(),
		CreateRevision: c.revision,
		CreateTimeMs:   c.wallMs,
		EpochRevision:  c.revision,
		Principal:      c.principal,
	}
	if err = c.catalog.Bind(id, s, r); err != nil {
		return nil, err
	}
	value, err := layout.Encode(r)
	if err != nil {
		return nil, err
	}
	c.rows.Set(layout.SessionRow(layout.RowSession, id), value)
	c.setObjects(id, 1)
	c.state.Sessions++
	begun := &storev1.SessionBegun{SessionId: id[:], Name: r.GetName(), Node: r.GetNode(), TtlMs: r.GetTtlMs()}
	if c.saysWhose() {
		begun.Principal = r.GetPrincipal()
	}
	c.emit(&storev1.Event{Kind: &storev1.Event_SessionBegun{SessionBegun: begun}})
	return &storev1.Result{Kind: &storev1.Result_CreateSession{CreateSession: &storev1.CreateSessionResult{
		SessionId:      id[:],
		TtlMs:          r.GetTtlMs(),
		LockDelayMs:    r.GetLockDelayMs(),
		CreateRevision: r.GetCreateRevision(),
		Epoch:          r.GetEpoch(),
		NodeId:         r.GetNodeId(),
		NodeChecks:     r.GetNodeChecks(),
		ServiceChecks:  r.GetServiceChecks(),
	}}}, nil
}

// saysWhose reports whether each event of a session says what rules ask of it, so that who may see the event is known from it alone, however long ago
// the session ended. Before version 3, it did not.
func (c sessionVerbs) saysWhose() bool { return c.state.ClusterVersion >= layout.Version3 }

// checkSessionRoom refuses an id that is taken, also by an ended session, and a session too many.
func (c sessionVerbs) checkSessionRoom(id layout.SessionID) error {
	_, taken, err := c.rows.Get(layout.SessionRow(layout.RowSession, id))
	if err != nil {
		return err
	}
	if !taken {
		_, taken, err = c.rows.Get(layout.SessionRow(layout.RowEndedIndex, id))
		if err != nil {
			return err
		}
	}
	if taken {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_SESSION_EXISTS,
			storev1.FailureDetail_FAILURE_DETAIL_SESSION_ID_TAKEN, id)
		f.Failure.SessionId = id[:]
		return f
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	if c.state.Sessions >= limits.GetSessionsMax() {
		return rule.Exceeded("sessions_max", limits.GetSessionsMax())
	}
	return nil
}

// checkNewSession refuses what the server should have.
func checkNewSession(s *storev1.CreateSession) error {
	const lockDelayMsMax, ttlMsMax, secretHashBytes = 60_000, 86_400_000, 32
	switch {
	case s.GetTtlMs() < 0 || s.GetTtlMs() > ttlMsMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_TTL_OUT_OF_RANGE)
	case s.GetLockDelayMs() < 0 || s.GetLockDelayMs() > lockDelayMsMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_LOCK_DELAY_OUT_OF_RANGE)
	case s.GetBehavior() == storev1.SessionBehavior_SESSION_BEHAVIOR_UNSPECIFIED:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_SESSION_WITHOUT_BEHAVIOR)
	case len(s.GetSecretSha256()) != 0 && len(s.GetSecretSha256()) != secretHashBytes:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_SECRET_HASH_LENGTH)
	case len(s.GetInstanceId()) > instanceBytesMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_INSTANCE_ID_TOO_LONG)
	default:
		return nil
	}
}

// objects returns the number of a session's objects, itself included; zero if it does not live.
func (c sessionVerbs) objects(id layout.SessionID) (uint64, error) {
	value, ok, err := c.rows.Get(layout.SessionRow(layout.RowObjects, id))
	if err != nil || !ok {
		return 0, err
	}
	n, size := binary.Uvarint(value)
	if size != len(value) {
		return 0, fmt.Errorf("%w: objects of session %s", layout.ErrCorrupt, id)
	}
	return n, nil
}

func (c sessionVerbs) setObjects(id layout.SessionID, n uint64) {
	c.rows.Set(layout.SessionRow(layout.RowObjects, id), binary.AppendUvarint(nil, n))
}

// addObject counts one more object of a live session.
func (c sessionVerbs) addObject(id layout.SessionID) error {
	n, err := c.objects(id)
	if err != nil {
		return err
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	if n >= uint64(limits.GetSessionObjectsMax()) {
		return rule.Exceeded("session_objects_max", uint64(limits.GetSessionObjectsMax()))
	}
	c.setObjects(id, n+1)
	return nil
}

// dropObject counts one less; for a session that has ended in this command there is nothing to count any more.
func (c sessionVerbs) dropObject(id layout.SessionID) error {
	n, err := c.objects(id)
	if err != nil || n == 0 {
		return err
	}
	c.setObjects(id, n-1)
	return nil
}

// destroySession ends one session because somebody asked.
func (c sessionVerbs) destroySession(d *storev1.DestroySession) (*storev1.Result, error) {
	how := sessionEnd{
		cause:     storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED,
		holdCause: storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_DESTROYED,
		reason:    d.GetReason(),
		by:        d.GetBy(),
		clean:     d.GetClean(),
	}
	ref := d.GetSession()
	switch {
	case d.GetForce():
		ref = &storev1.SessionRef{SessionId: ref.GetSessionId()}
		how.cause = storev1.SessionEndCause_SESSION_END_CAUSE_FORCED
		how.holdCause = storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_FORCED
	case d.GetClean():
		how.holdCause = storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_CLOSED
	}
	s, err := c.session(ref)
	if err != nil {
		return nil, err
	}
	return c.endSessions([]layout.SessionID{s.id}, how)
}

// expireSessions ends those of the named sessions that still live.
func (c sessionVerbs) expireSessions(e *storev1.ExpireSessions) (*storev1.Result, error) {
	if err := c.checkTerm(e.GetTerm()); err != nil {
		return nil, err
	}
	ids := make([]layout.SessionID, 0, len(e.GetSessionIds()))
	for _, b := range e.GetSessionIds() {
		id, err := rule.SessionID(b)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return c.endSessions(ids, sessionEnd{
		cause:     storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED,
		holdCause: storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_EXPIRED,
	})
}
