package tenure_test

import (
	"context"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TryAcquireLock acquires without waiting. Its answer may wait, though it is applied.
func (m *fakeMember) TryAcquireLock(
	_ context.Context, r *tenurev1.TryAcquireLockRequest,
) (*tenurev1.TryAcquireLockResponse, error) {
	f := m.cluster
	f.mu.Lock()
	answer := &tenurev1.TryAcquireLockResponse{Header: f.header(), Lock: &tenurev1.Lock{Key: r.GetKey()}}
	hold := f.locks.holds[r.GetKey()]
	mine := hold.GetSequencer().GetSessionId() == r.GetSessionId() && hold.GetOwner() == r.GetOptions().GetOwner()
	if hold == nil || mine {
		p, err := f.acquire(&tenurev1.AcquireLockRequest{Key: r.GetKey(), SessionId: r.GetSessionId(), Options: r.GetOptions()})
		if err != nil {
			f.mu.Unlock()
			return nil, err
		}
		answer.Acquired, answer.Hold = true, p.hold
	}
	slow := f.locks.slowAnswers
	f.mu.Unlock()
	if slow != nil {
		<-slow
	}
	return answer, nil
}

// Resign gives leadership to the one who waits first, or refuses if nobody waits. Its answer waits with those of tries.
func (m *fakeMember) Resign(_ context.Context, r *tenurev1.ResignRequest) (*tenurev1.ResignResponse, error) {
	f := m.cluster
	f.mu.Lock()
	var err error
	if len(f.locks.places[r.GetKey()]) == 0 {
		err = refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND, "no")
	} else {
		delete(f.locks.holds, r.GetKey())
		f.grant(r.GetKey())
	}
	answer := &tenurev1.ResignResponse{Header: f.header(), Resigned: err == nil}
	slow := f.locks.slowAnswers
	f.mu.Unlock()
	if slow != nil {
		<-slow
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}
