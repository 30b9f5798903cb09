package tenure

import (
	"context"
	"strconv"
	"sync"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// attaching asks the cluster for the truth about a session, and takes it over. Each attempt has a number, so that an earlier one that comes late does
// not undo a later one.
type attaching struct {
	session *Session

	mu       sync.Mutex // Guards what follows.
	attempts uint64
}

// made returns how many attempts were made.
func (a *attaching) made() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts
}

// request asks for the truth, as the next attempt.
func (a *attaching) request(epoch uint64) *tenurev1.AttachSessionRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempts++
	s := a.session
	request := &tenurev1.AttachSessionRequest{
		SessionId: s.id, Attempt: a.attempts, Options: &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: epoch},
	}
	if !s.attached {
		request.InstanceId = s.instance
	}
	return request
}

// truth asks what the session has, all pages of it; what was granted after the answer's revision may be missing.
func (a *attaching) truth(ctx context.Context, l *conn.Link) (*tenurev1.AttachSessionResponse, error) {
	answer, err := tenurev1.NewSessionServiceClient(l).AttachSession(ctx, a.request(a.session.epoch))
	if err != nil {
		return nil, err
	}
	return answer, a.pages(ctx, l, answer)
}

// pages adds the pages that are missing in an answer.
func (a *attaching) pages(ctx context.Context, l *conn.Link, answer *tenurev1.AttachSessionResponse) error {
	for answer.GetNextPageToken() != "" {
		request := a.request(a.session.epoch)
		request.PageToken = answer.GetNextPageToken()
		page, err := tenurev1.NewSessionServiceClient(l).AttachSession(ctx, request)
		if err != nil {
			return err
		}
		answer.Holds = append(answer.Holds, page.GetHolds()...)
		answer.Places = append(answer.Places, page.GetPlaces()...)
		answer.NextPageToken = page.GetNextPageToken()
	}
	return nil
}

// takeOver raises the epoch.
func (a *attaching) takeOver(ctx context.Context) (*tenurev1.AttachSessionResponse, error) {
	t := &takeover{attaching: a}
	err := a.session.client.retry(ctx, t.attempt, kindOwn)
	return t.answer, err
}

// takeover raises a session's epoch, in as many attempts as it takes.
type takeover struct {
	attaching *attaching
	maybe     bool // Whether an attempt may have been applied.
	answer    *tenurev1.AttachSessionResponse
}

// attempt makes one attempt. An answer that was lost is found again: the same instance is then the session's user.
func (t *takeover) attempt(ctx context.Context, l *conn.Link) (err error) {
	epoch, service := t.attaching.session.epoch, tenurev1.NewSessionServiceClient(l)
	if t.maybe {
		t.answer, err = service.AttachSession(ctx, t.attaching.request(epoch+1))
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH ||
			errorinfo.Fact(err, "epoch") != strconv.FormatUint(epoch, 10) {
			return err
		}
		t.maybe = false // It was not applied.
	}
	request := t.attaching.request(epoch)
	request.TakeOver = true
	t.answer, err = service.AttachSession(ctx, request)
	t.maybe = err != nil && errorinfo.Fact(err, "applied") != string(AppliedNo)
	return err
}
