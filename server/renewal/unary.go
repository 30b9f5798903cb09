package renewal

import (
	"context"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// oneVerdict takes the verdict on a single renewal.
type oneVerdict chan tenurev1.ErrorReason

// decided takes the verdict.
func (v oneVerdict) decided(_ int, refused tenurev1.ErrorReason, _ time.Duration) { v <- refused }

// renewFar has the leader renew one session. It asks again, until ctx or the patience ends, where a KeepAlive stream
// would leave that to its client.
func (a *Renewer) renewFar(ctx context.Context, id storage.SessionID, o *tenurev1.CallOptions) error {
	if err := a.ActAs(ctx, id, o); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, a.Relay.Patience)
	defer cancel()
	for {
		verdict := make(oneVerdict, 1)
		a.renewals.add([]*relayedRenewal{{
			id: id, epoch: o.GetEpoch(), secret: call.Hashed(o.GetSessionSecret()), sink: verdict,
		}})
		var refused tenurev1.ErrorReason
		select {
		case refused = <-verdict:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch refused {
		case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
			return nil
		case tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER:
			if err := a.renewAgain(patience, id); err != nil {
				return err
			}
		default:
			return a.renewalError(ctx, id, refused)
		}
	}
}

// renewAgain waits a moment, and returns why it makes no sense to ask again.
func (a *Renewer) renewAgain(patience context.Context, id storage.SessionID) error {
	_, changed := a.Relay.Present()
	retry := time.NewTimer(leader.Retry)
	defer retry.Stop()
	select {
	case <-changed:
	case <-retry.C:
	case <-patience.Done():
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
			"there is no leader that could renew session %s; most members may be down", id)
	}
	return nil
}

// renewalError returns the error for a renewal that the leader refused for good.
func (a *Renewer) renewalError(ctx context.Context, id storage.SessionID, refused tenurev1.ErrorReason) error {
	switch refused {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		s, err := a.Reader(ctx, nil)
		if err != nil {
			return err
		}
		defer a.CloseSnapshot(s)
		return call.NoSession(s, id)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED:
		return reason.New(refused, "another instance took over session %s", id).With("session_id", id.String())
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return call.SecretWrong(id, true)
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return reason.ErrStopping
	default:
		return reason.New(refused, "the leader did not renew session %s", id)
	}
}
