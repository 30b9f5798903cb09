package audit_test

import (
	"fmt"
	"sync"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/audit"
)

// TestRefusedRenewalsOfAStreamAreFewLines has a stream that renews many sessions without the right, again and again.
func TestRefusedRenewalsOfAStreamAreFewLines(t *testing.T) {
	const sessions, most = 1000, 64
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	_, c := l.Begin(t.Context(), tenurev1.SessionService_KeepAlive_FullMethodName, here)
	for range 3 {
		for i := range sessions {
			c.Verdicts(&tenurev1.KeepAliveResponse{Verdicts: []*tenurev1.RenewalVerdict{
				{SessionId: fmt.Sprint("renewed", i)},
				{SessionId: fmt.Sprint("expired", i), Refused: tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED},
				{SessionId: fmt.Sprint("denied", i), Refused: tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED},
			}})
		}
	}
	c.End(0, nil)
	run(t, l)()
	lines := d.lines(t)
	if len(lines) != most+1 {
		t.Fatalf("got %d lines, want one for each of %d sessions, and one for the others", len(lines), most)
	}
	for i, line := range lines {
		session, named := line["session"]
		if line["decision"] != "denied" || line["reason"] != "PERMISSION_DENIED" || line["method"] != "tenure.v1.SessionService/KeepAlive" {
			t.Errorf("line %d: got %v, want a denial", i, line)
		}
		if named != (i < most) || named && session != fmt.Sprint("denied", i) {
			t.Errorf("line %d: got the session %v", i, session)
		}
	}
}

func TestARefusedRenewalIsALineForEachReason(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d})
	_, c := l.Begin(t.Context(), tenurev1.SessionService_KeepAlive_FullMethodName, here)
	for _, why := range []tenurev1.ErrorReason{
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG,
	} {
		c.Verdicts(&tenurev1.KeepAliveResponse{Verdicts: []*tenurev1.RenewalVerdict{{SessionId: "s", Refused: why}}})
	}
	c.End(0, nil)
	run(t, l)()
	lines := d.lines(t)
	if len(lines) != 2 || lines[0]["reason"] != "SESSION_SECRET_WRONG" || lines[1]["reason"] != "PERMISSION_DENIED" {
		t.Errorf("got %v, want a line for the secret and one for the right", lines)
	}
}

// TestRenewalsAreReadWhileOthersAreAnswered is for the race detector.
func TestRenewalsAreReadWhileOthersAreAnswered(t *testing.T) {
	l := open(t, audit.Options{Stdout: &disk{room: -1}})
	_, c := l.Begin(t.Context(), tenurev1.SessionService_KeepAlive_FullMethodName, here)
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for n := range 20 {
				c.Verdicts(&tenurev1.KeepAliveResponse{Verdicts: []*tenurev1.RenewalVerdict{
					{SessionId: fmt.Sprint(part, n), Refused: tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED},
				}})
			}
		})
	}
	all.Wait()
	c.End(0, nil)
	run(t, l)()
}

func TestRefusedRenewalsAreLinesOnlyWhereDenialsAre(t *testing.T) {
	d := &disk{room: -1}
	l := open(t, audit.Options{Stdout: d, Classes: audit.Classes{audit.Changes: true}})
	_, c := l.Begin(t.Context(), tenurev1.SessionService_KeepAlive_FullMethodName, here)
	c.Verdicts(&tenurev1.KeepAliveResponse{Verdicts: []*tenurev1.RenewalVerdict{
		{SessionId: "s", Refused: tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED},
	}})
	c.End(0, nil)
	run(t, l)()
	if lines := d.lines(t); len(lines) != 0 {
		t.Errorf("got %v, want no line", lines)
	}
}
