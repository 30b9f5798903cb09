package service

import (
	"context"
	"strconv"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/selection"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

const (
	progressIntervalDefault = 10 * time.Second
	progressIntervalMin     = 200 * time.Millisecond
	progressIntervalMax     = 10 * time.Minute
)

// watchPlan is a validated request.
type watchPlan struct {
	selectors watch.Selectors
	progress  time.Duration
	wait      time.Duration
	after     watch.Position
	started   bool // after is known; else the watch starts now
	fromToken bool
}

// watchPlanOf validates a request but for what depends on the state.
func (a *Watches) watchPlanOf(r *tenurev1.WatchRequest) (*watchPlan, error) {
	selectors, err := selection.Of(r)
	if err != nil {
		return nil, err
	}
	p := &watchPlan{selectors: selectors}
	if p.wait, err = call.CheckDuration("wait", r.GetWait()); err != nil {
		return nil, err
	}
	if p.progress, err = call.CheckDuration("progress_interval", r.GetProgressInterval()); err != nil {
		return nil, err
	}
	if p.progress == 0 {
		p.progress = progressIntervalDefault
	}
	if p.progress < progressIntervalMin || p.progress > progressIntervalMax {
		return nil, reason.Invalid("progress_interval", "must be between %v and %v", progressIntervalMin, progressIntervalMax)
	}
	return p, a.addStart(p, r)
}

// addStart reads where the watch starts.
func (a *Watches) addStart(p *watchPlan, r *tenurev1.WatchRequest) error {
	starts := 0
	for _, given := range []bool{r.GetAfterRevision() != 0, r.GetResumeToken() != "", r.GetInitial()} {
		if given {
			starts++
		}
	}
	if starts > 1 {
		return reason.Invalid("after_revision", "only one of after_revision, resume_token and initial may be given")
	}
	if err := call.CheckHistory("history_id", r.GetHistoryId(), a.History()); err != nil {
		return err
	}
	switch {
	case r.GetAfterRevision() != 0:
		p.after = watch.Position{Revision: r.GetAfterRevision(), Index: watch.Whole}
		p.started = true
	case r.GetResumeToken() != "":
		after, err := selection.NewResumer(a.History(), p.selectors).Position(r.GetResumeToken())
		if err != nil {
			return err
		}
		p.after, p.started, p.fromToken = after, true, true
	}
	return nil
}

// settleStart finds the position of a watch that starts now, and checks one that was given. A member that is behind asks
// how far the cluster is before it says that a revision is ahead of it.
func (a *Watches) settleStart(ctx context.Context, p *watchPlan) error {
	at := a.Node.Store().Applied()
	if !p.started || p.after.Revision > at.Revision {
		if err := a.Node.ReadIndex(ctx); err != nil {
			return err
		}
		at = a.Node.Store().Applied()
	}
	if !p.started {
		p.after, p.started = watch.Position{Revision: at.Revision, Index: watch.Whole}, true
		return nil
	}
	if p.after.Revision > at.Revision {
		if p.fromToken {
			return reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
				"resume_token is of revision %d, and the cluster is at %d", p.after.Revision, at.Revision).
				With("revision", strconv.FormatUint(at.Revision, 10))
		}
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
			"after_revision %d is ahead of the cluster, which is at %d", p.after.Revision, at.Revision).
			With("revision", strconv.FormatUint(at.Revision, 10))
	}
	return checkKept(p.after, at)
}

// checkKept refuses a position behind which history is forgotten.
func checkKept(after watch.Position, at storage.Applied) error {
	if after.Revision > at.CompactedRevision || after.Revision == at.CompactedRevision && after.Index == watch.Whole {
		return nil
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED,
		"the history after revision %d is forgotten; it is kept after %d", after.Revision, at.CompactedRevision).
		With("compacted_revision", strconv.FormatUint(at.CompactedRevision, 10)).
		With("revision", strconv.FormatUint(at.Revision, 10))
}
