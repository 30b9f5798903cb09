package acting

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Sessions returns the ids of the sessions that a command acts as, as they stand in it: one that is none is for others to
// refuse. A session may be there more than once.
func Sessions(c *storev1.Command) [][]byte {
	var f found
	if r := c.GetRequestId(); r != nil {
		f = append(f, r.GetSessionId())
	}
	switch kind := c.GetKind().(type) {
	case *storev1.Command_DestroySession:
		f.user(kind.DestroySession.GetSession(), kind.DestroySession.GetForce())
	case *storev1.Command_TakeOverSession:
		f = append(f, kind.TakeOverSession.GetSessionId())
	case *storev1.Command_Put:
		f.put(kind.Put)
	case *storev1.Command_AcquireLock:
		f.user(kind.AcquireLock.GetSession(), false)
	case *storev1.Command_CancelWait:
		f.user(kind.CancelWait.GetSession(), false)
	case *storev1.Command_ReleaseLock:
		f.user(kind.ReleaseLock.GetSession(), kind.ReleaseLock.GetForce())
	case *storev1.Command_Resign:
		f.user(kind.Resign.GetSession(), false)
	case *storev1.Command_PutQuery:
		f.user(kind.PutQuery.GetSession(), false)
	case *storev1.Command_Txn:
		f.ops(kind.Txn.GetThenOps())
		f.ops(kind.Txn.GetElseOps())
	}
	return f
}

// found gathers sessions.
type found [][]byte

// user adds a session, unless an operator stands in for its user.
func (f *found) user(s *storev1.SessionRef, operator bool) {
	if s != nil && !operator {
		*f = append(*f, s.GetSessionId())
	}
}

// put adds those of a put.
func (f *found) put(p *storev1.Put) {
	f.user(p.GetAcquire(), false)
	f.user(p.GetRelease(), p.GetForce())
	f.user(p.GetBindSession(), false)
}

// ops adds those of a transaction's operations.
func (f *found) ops(ops []*storev1.Op) {
	for _, op := range ops {
		switch kind := op.GetKind().(type) {
		case *storev1.Op_Put:
			f.put(kind.Put)
		case *storev1.Op_AcquireLock:
			f.user(kind.AcquireLock.GetSession(), false)
		case *storev1.Op_ReleaseLock:
			f.user(kind.ReleaseLock.GetSession(), kind.ReleaseLock.GetForce())
		}
	}
}
