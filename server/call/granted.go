package call

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// GrantedToProto returns the hold that a grant's event tells of.
func (c *Caller) GrantedToProto(e *storev1.Event) *tenurev1.Hold {
	return HoldToProto(GrantOf(e), c.History(), c.Timers)
}

// GrantOf returns the hold that a grant's event tells of.
func GrantOf(e *storev1.Event) *storev1.HoldState {
	g := e.GetLockGranted()
	return &storev1.HoldState{
		Key:          g.GetKey(),
		LockIndex:    g.GetLockIndex(),
		FencingToken: e.GetRevision(),
		SessionId:    g.GetSessionId(),
		Owner:        g.GetOwner(),
		Mode:         g.GetMode(),
		Permits:      g.GetPermits(),
		GrantTimeMs:  e.GetWallTimeMs(),
		SessionName:  g.GetSessionName(),
	}
}
