package pool_test

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A machine that has failed is made to leave. Its node goes, unless a session is bound to it by more than the check liveness.
func TestAMachineThatHasFailedIsMadeToLeave(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := startPool(ctx, t, 1, 3)
	client := tenurev1.NewPoolServiceClient(p.conn())
	refused := func(node string, want tenurev1.ErrorReason) {
		t.Helper()
		_, err := client.ForceLeave(ctx, &tenurev1.ForceLeaveRequest{Node: node})
		for _, detail := range status.Convert(err).Details() {
			if info, ok := detail.(*errdetails.ErrorInfo); ok && "ERROR_REASON_"+info.GetReason() == want.String() {
				return
			}
		}
		t.Errorf("%s: got %v, want %v", node, err, want)
	}
	gone, stays, lives := p.machines[0], p.machines[1], p.machines[2]
	refused("nobody", tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND)
	refused(lives.name, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED)

	seen := p.watch(ctx, p.revision)
	otherwise := p.bind(ctx, 1, []*machine{stays}, &tenurev1.SessionChecks{})
	for _, m := range []*machine{gone, stays} {
		m.Kill()
		seen.awaitLast(t, turnsCritical(m.name, liveness))
	}
	for m, goes := range map[*machine]bool{gone: true, stays: false} {
		answer, err := client.ForceLeave(ctx, &tenurev1.ForceLeaveRequest{Node: m.name})
		if err != nil || answer.GetDeregistered() != goes {
			t.Errorf("%s: got %v, %v, want that it was deregistered: %v", m.name, answer, err, goes)
		}
	}
	refused(gone.name, tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND)
	refused(stays.name, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED) // It has no check liveness any more.
	if ended, _ := p.ends(ctx); len(ended) > 0 {
		t.Errorf("sessions have ended: %v, want that %s goes on", ended, otherwise[0])
	}
}
