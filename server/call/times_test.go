package call

import (
	"testing"
	"time"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What the leader does not know is left out, and is not the same as no time that is left.
func TestNoTimeLeftIsKnown(t *testing.T) {
	over, unknown := &tenurev1.Session{}, &tenurev1.Session{}
	free, remote := &tenurev1.Hold{}, &tenurev1.Hold{}
	shown := &ShownTimes{sessions: []*tenurev1.Session{over, unknown}, holds: []*tenurev1.Hold{free, remote}}
	shown.fill(&peerv1.TimesLeftResponse{
		Sessions:    []*peerv1.SessionTimeLeft{{LeftMs: 0, LastRenewalMs: 5}, {LeftMs: -1, LastRenewalMs: 5}, {LeftMs: 7}},
		DelayLeftMs: []int64{0, -1, 7},
	})
	if over.GetTtlLeft() == nil || over.GetTtlLeft().AsDuration() != 0 || !over.GetLastRenewalTime().AsTime().Equal(time.UnixMilli(5)) {
		t.Errorf("got %v of a session whose time is over", over)
	}
	if unknown.GetTtlLeft() != nil || unknown.GetLastRenewalTime() != nil {
		t.Errorf("got %v of a session that the leader does not know", unknown)
	}
	if free.GetDelayLeft() == nil || free.GetDelayLeft().AsDuration() != 0 || remote.GetDelayLeft() != nil {
		t.Errorf("got %v and %v of a delay that is over, and of one that the leader does not know", free, remote)
	}
}
