package service

import (
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
)

// AttachSession serves SessionService. Without take_over it changes nothing, so it is a read.
func (a *Sessions) AttachSession(
	ctx context.Context, r *tenurev1.AttachSessionRequest,
) (*tenurev1.AttachSessionResponse, error) {
	id, err := call.ParseSession("session_id", r.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err = call.CheckText("instance_id", string(r.GetInstanceId()), call.InstanceIDBytesMax); err != nil {
		return nil, err
	}
	if err = call.CheckOptions(r.GetOptions(), call.OptionUse{Session: true, Guards: r.GetTakeOver()}); err != nil {
		return nil, err
	}
	if err = a.ActAs(ctx, id, call.Hashed(r.GetOptions().GetSessionSecret()), r.GetOptions()); err != nil {
		return nil, err
	}
	if r.GetTakeOver() {
		return a.takeOver(ctx, id, r)
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	record, err := call.LiveAt(s, id)
	if err != nil {
		return nil, err
	}
	if err := checkAttach(id, record, r); err != nil {
		return nil, err
	}
	if err := a.orderAttach(ctx, id, r); err != nil {
		return nil, err
	}
	return a.attached(ctx, s, id, record, r.GetPageToken())
}

// attached tells the user of a session what it has, as much as one answer may carry.
func (a *Sessions) attached(
	ctx context.Context, s *call.Snapshot, id storage.SessionID, record *storev1.SessionRecord, pageToken string,
) (*tenurev1.AttachSessionResponse, error) {
	if err := unread.Begin(ctx); err != nil {
		return nil, err
	}
	highest, err := s.MaxSequence(id, record.GetEpoch())
	if err != nil {
		return nil, err
	}
	response := &tenurev1.AttachSessionResponse{
		Header: a.Header(s.At), Session: a.WithTimer(id, call.SessionToProto(id, record)), MaxSequence: highest,
	}
	if err = a.addObjects(s, id, pageToken, response); err != nil {
		return nil, err
	}
	a.SessionTimes(ctx, response.GetSession())
	return response, nil
}

// takeOver makes another instance the user of a session: the epoch rises, and every hold gets a new number and token.
func (a *Sessions) takeOver(
	ctx context.Context, id storage.SessionID, r *tenurev1.AttachSessionRequest,
) (*tenurev1.AttachSessionResponse, error) {
	if r.GetOptions().GetEpoch() == 0 {
		return nil, reason.Invalid("options.epoch", "is required with take_over: name the epoch to replace")
	}
	if r.GetPageToken() != "" {
		return nil, reason.Invalid("page_token", "must not be given with take_over; to get the next page, leave take_over out")
	}
	_, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
			SessionId:     id[:],
			ReplacesEpoch: r.GetOptions().GetEpoch(),
			InstanceId:    r.GetInstanceId(),
			PeerAddress:   gate.Address(ctx),
		}}},
	})
	if err != nil {
		return nil, err
	}
	response, err := a.tellTakeover(ctx, id)
	if err != nil {
		return nil, reason.AfterChange(err)
	}
	return response, nil
}

// tellTakeover tells the new user of a session what it has.
func (a *Sessions) tellTakeover(ctx context.Context, id storage.SessionID) (*tenurev1.AttachSessionResponse, error) {
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	record, err := call.LiveAt(s, id)
	if err != nil {
		return nil, err
	}
	a.Log.Info("session taken over", zap.Stringer("session_id", id), zap.Uint64("epoch", record.GetEpoch()),
		zap.String("by", gate.Address(ctx)))
	return a.attached(ctx, s, id, record, "")
}

// checkAttach refuses an instance that is not the session's.
func checkAttach(id storage.SessionID, record *storev1.SessionRecord, r *tenurev1.AttachSessionRequest) error {
	epoch := r.GetOptions().GetEpoch()
	if epoch != 0 && epoch < record.GetEpoch() {
		return superseded(id, record, epoch)
	}
	other := len(record.GetInstanceId()) > 0 && len(r.GetInstanceId()) > 0 &&
		!slices.Equal(record.GetInstanceId(), r.GetInstanceId())
	if epoch > record.GetEpoch() || other {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH,
			"session %s is at epoch %d and in the hands of another instance; take it over, or open a new one",
			id, record.GetEpoch()).With("epoch", fmt.Sprint(record.GetEpoch()))
	}
	return nil
}

// orderAttach refuses an attempt to attach if the same instance made a later one, which only the leader knows. Processes
// that do not say which instance they are have no common count.
func (a *Sessions) orderAttach(ctx context.Context, id storage.SessionID, r *tenurev1.AttachSessionRequest) error {
	if r.GetAttempt() == 0 || len(r.GetInstanceId()) == 0 {
		return nil
	}
	latest := uint64(0)
	err := a.Relay.Lead(ctx, leader.Call{
		Name:   leader.MethodAttach,
		Repeat: true,
		Here: func(context.Context) (err error) {
			latest, err = a.latestAttempt(id, r.GetInstanceId(), r.GetAttempt())
			return err
		},
		Far: func(ctx context.Context, w *leader.Way, options ...grpc.CallOption) error {
			answer, err := w.Client.Attach(ctx, &peerv1.AttachRequest{
				Term: w.Term, SessionId: id[:], InstanceId: r.GetInstanceId(), Attempt: r.GetAttempt(),
				SecretSha256: call.Hashed(r.GetOptions().GetSessionSecret()),
			}, options...)
			latest = answer.GetLatestAttempt()
			return err
		},
	}, nil)
	if err == nil && latest > r.GetAttempt() {
		err = reason.New(tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED,
			"attempt %d to attach to session %s comes after attempt %d", r.GetAttempt(), id, latest).
			With("attempt", fmt.Sprint(latest))
	}
	return err
}

// latestAttempt notes an attempt to attach, and returns the latest of the same instance. It fails where this member does
// not lead.
func (a *Sessions) latestAttempt(id storage.SessionID, instance []byte, attempt uint64) (uint64, error) {
	latest, ok := a.Timers.Attach(id, instance, attempt)
	if !ok {
		return 0, reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "this member does not track TTLs of sessions yet")
	}
	return latest, nil
}

// superseded returns the error for an epoch that is over.
func superseded(id storage.SessionID, record *storev1.SessionRecord, epoch uint64) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED,
		"session %s was taken over: its epoch is %d, not %d", id, record.GetEpoch(), epoch).
		With("epoch", fmt.Sprint(record.GetEpoch()))
}
