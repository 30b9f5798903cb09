package tenure_test

import (
	"cmp"
	"context"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Resign gives leadership to the one who waits first, or refuses if nobody waits. Its answer waits with those of tries.
func (m *fakeMember) Resign(_ context.Context, r *tenurev1.ResignRequest) (*tenurev1.ResignResponse, error) {
	f := m.cluster
	f.mu.Lock()
	refused, err := f.locks.resigns.next()
	if refused != nil {
		f.mu.Unlock()
		return nil, refused
	}
	leads := owns(f.locks.holds[r.GetKey()], r.GetSessionId(), r.GetOptions())
	switch {
	case !leads: // What is not held is not given up.
	case len(f.locks.places[r.GetKey()]) == 0:
		err = cmp.Or(err, refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND, "no"))
	default:
		delete(f.locks.holds, r.GetKey())
		f.grant(r.GetKey())
	}
	answer := &tenurev1.ResignResponse{Header: f.header(), Resigned: leads && err == nil}
	f.mu.Unlock()
	f.gated(&f.locks.lateAnswers).pass()
	if err != nil {
		return nil, err
	}
	return answer, nil
}
