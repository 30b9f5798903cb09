package machine

import (
	"bytes"
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// checkGuards refuses unless all conditions hold; the failure names the first that does not.
func (c txnVerbs) checkGuards(guards []*storev1.Guard) error {
	for i, g := range guards {
		err := c.checkGuard(g)
		if broken, ok := errors.AsType[*rule.Error](err); ok {
			broken.Failure.Position = uint32(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkGuard refuses unless a condition holds.
func (c txnVerbs) checkGuard(g *storev1.Guard) error {
	switch condition := g.GetCondition().(type) {
	case *storev1.Guard_Held:
		return c.checkHeld(condition.Held)
	case *storev1.Guard_SessionAlive:
		_, err := c.sessions.session(&storev1.SessionRef{SessionId: condition.SessionAlive})
		return err
	case *storev1.Guard_Key:
		return c.checkKey(condition.Key)
	default:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_GUARD_WITHOUT_CONDITION)
	}
}

// checkHeld refuses a sequencer that does not hold any more, for whatever reason.
func (c txnVerbs) checkHeld(g *storev1.HeldGuard) error {
	n, err := c.name(g.GetKey())
	if err != nil {
		return err
	}
	h, err := c.hold(n, g.GetLockIndex())
	if err != nil {
		return err
	}
	if h != nil && !h.GetDelayed() && h.GetFencingToken() == g.GetFencingToken() &&
		string(h.GetSessionId()) == string(g.GetSessionId()) {
		dead, failed := c.catalog.MarkedSession(layout.SessionID(h.GetSessionId()))
		if failed != nil || !dead {
			return failed
		}
	}
	l, err := c.lock(n)
	if err != nil {
		return err
	}
	state, err := records.LockState(c.rows, n, l.head)
	if err != nil {
		return err
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE,
		storev1.FailureDetail_FAILURE_DETAIL_HOLD_STALE, n.Key, g.GetLockIndex(), g.GetFencingToken())
	f.Failure.Key = n.Key
	f.Failure.SessionId = g.GetSessionId()
	f.Failure.Lock = state
	return f
}

// checkKey refuses unless all demanded properties of a key are as demanded. A missing key has only zeros.
func (c txnVerbs) checkKey(g *storev1.KeyGuard) error {
	n, err := c.name(g.GetKey())
	if err != nil {
		return err
	}
	facts, err := c.keyFacts(n)
	if err != nil {
		return err
	}
	k := facts.record
	if g.Exists != nil && g.GetExists() != (k != nil) {
		if k != nil {
			return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_KEY_IS_THERE)
		}
		return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_KEY_IS_MISSING)
	}
	properties := []struct {
		detail storev1.FailureDetail
		set    bool
		want   uint64
		is     uint64
	}{
		{storev1.FailureDetail_FAILURE_DETAIL_MOD_REVISION_DIFFERS, g.ModRevision != nil, g.GetModRevision(), k.GetModRevision()},
		{storev1.FailureDetail_FAILURE_DETAIL_CREATE_REVISION_DIFFERS, g.CreateRevision != nil, g.GetCreateRevision(), k.GetCreateRevision()},
		{storev1.FailureDetail_FAILURE_DETAIL_VERSION_DIFFERS, g.Version != nil, g.GetVersion(), k.GetVersion()},
	}
	for _, p := range properties {
		if p.set && p.want != p.is {
			return compareFailed(n, k, p.detail, p.is, p.want)
		}
	}
	return c.checkHolder(n, k, g)
}

// checkHolder refuses unless the session that a guard demands, or none, holds a key's EXCLUSIVE lock.
func (c txnVerbs) checkHolder(n layout.Name, k *storev1.KeyRecord, g *storev1.KeyGuard) error {
	if g.HeldBySessionId == nil || c.state.ClusterVersion < layout.Version2 {
		return nil
	}
	if len(g.GetHeldBySessionId()) > 0 {
		if _, err := rule.SessionID(g.GetHeldBySessionId()); err != nil {
			return err
		}
	}
	head, err := records.LockHead(c.rows, n)
	if err != nil || bytes.Equal(head.GetExclusiveSessionId(), g.GetHeldBySessionId()) {
		return err
	}
	return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_HELD_BY_OTHER)
}

// compareFailed returns the failure of a comparison with a key, nil if the key is missing.
func compareFailed(n layout.Name, k *storev1.KeyRecord, detail storev1.FailureDetail, arguments ...any) error {
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED, detail, append([]any{n.Key}, arguments...)...)
	f.Failure.Key = n.Key
	f.Failure.Actual = k.GetModRevision()
	return f
}
