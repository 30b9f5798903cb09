package service

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// BreakLock serves LockService.
func (a *Locks) BreakLock(ctx context.Context, r *tenurev1.BreakLockRequest) (*tenurev1.BreakLockResponse, error) {
	err := call.CheckKey("key", r.GetKey())
	if err != nil {
		return nil, err
	}
	if err = call.CheckOptions(r.GetOptions(), call.OptionUse{Guards: true, Key: true}); err != nil {
		return nil, err
	}
	if r.GetReason() == "" {
		return nil, reason.Invalid("reason", "is required; give the reason for the record")
	}
	if err = call.CheckText("reason", r.GetReason(), call.ReasonBytesMax); err != nil {
		return nil, err
	}
	brk := &storev1.BreakLock{Key: r.GetKey(), Owner: r.Owner, Reason: r.GetReason(), By: gate.Address(ctx)}
	if r.GetSessionId() != "" {
		var id storage.SessionID
		if id, err = call.ParseSession("session_id", r.GetSessionId()); err != nil {
			return nil, err
		}
		brk.SessionId = id[:]
	} else if r.Owner != nil {
		return nil, reason.Invalid("owner", "requires session_id")
	}
	if err = call.CheckText("owner", r.GetOwner(), call.OwnerBytesMax); err != nil {
		return nil, err
	}
	query := breakQuery(r)
	if brk.From, err = query.point(a.Node.Store().Applied(), r.GetBreakToken()); err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_BreakLock{BreakLock: brk}},
	})
	if err != nil {
		return nil, err
	}
	done := result.GetBreakLock()
	a.Log.Info("lock broken", zap.Uint32("holds", done.GetHolds()), zap.Uint32("places", done.GetPlaces()),
		zap.Uint32("remaining", done.GetRemaining()),
		zap.String("reason", r.GetReason()), zap.String("by", brk.GetBy()))
	return &tenurev1.BreakLockResponse{
		Header:     a.HeaderOf(result),
		Holds:      done.GetHolds(),
		Places:     done.GetPlaces(),
		Remaining:  done.GetRemaining(),
		BreakToken: query.token(a.Node.Store().Applied(), done.GetNext()),
	}, nil
}

// breaking names a break by all that must be the same in the call that goes on with it. Its token is sealed as one of a page is.
type breaking struct {
	query call.PageQuery
}

func breakQuery(r *tenurev1.BreakLockRequest) breaking {
	owner := "any"
	if r.Owner != nil {
		owner = "named " + r.GetOwner()
	}
	return breaking{call.PageQuery{List: "break", Filters: []string{r.GetKey(), r.GetSessionId(), owner, r.GetReason()}}}
}

// token returns the token that goes on from a point; empty for nil, where nothing is left.
func (b breaking) token(at storage.Applied, p *storev1.BreakPoint) string {
	if p == nil {
		return ""
	}
	return b.query.Token(at, fmt.Sprintf("%d %d %d", p.GetRevision(), p.GetLastLockIndex(), p.GetAfterLockIndex()))
}

// point undoes token.
func (b breaking) point(at storage.Applied, token string) (*storev1.BreakPoint, error) {
	if token == "" {
		return nil, nil //nolint:nilnil // A break that begins comes from no point.
	}
	text, err := b.query.After(at, token)
	p := &storev1.BreakPoint{}
	if err == nil {
		_, err = fmt.Sscanf(text, "%d %d %d", &p.Revision, &p.LastLockIndex, &p.AfterLockIndex)
	}
	if err != nil || !storage.BreaksInSteps(at.ClusterVersion) {
		return nil, reason.Invalid("break_token", "is not a token of this break; start again without it")
	}
	return p, nil
}
