package service

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// acquiring is what the two requests for a lock have in common.
type acquiring interface {
	GetKey() string
	GetSessionId() string
	GetMode() tenurev1.LockMode
	GetPermits() uint32
	GetLimit() uint32
	GetValue() []byte
	GetWait() *durationpb.Duration
	GetOptions() *tenurev1.CallOptions
}

// acquireFromProto validates a request for a lock and checks that the caller may act as the session.
func (a *Locks) acquireFromProto(ctx context.Context, r acquiring) (*storev1.AcquireLock, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	if err := call.CheckValue("value", r.GetValue()); err != nil {
		return nil, err
	}
	use := call.OptionUse{Session: true, Owner: true, Guards: true, Request: true, Key: true}
	if err := call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	mode, err := call.ModeFromProto(r.GetMode())
	if err != nil {
		return nil, err
	}
	wait, err := call.CheckDuration("wait", r.GetWait())
	if err != nil {
		return nil, err
	}
	acquire := &storev1.AcquireLock{
		Key:     r.GetKey(),
		Owner:   r.GetOptions().GetOwner(),
		Mode:    mode,
		Permits: r.GetPermits(),
		Limit:   r.GetLimit(),
		WaitMs:  call.RoundUp(min(wait, call.WaitMax)).Milliseconds(),
	}
	if err = checkPermits(acquire); err != nil {
		return nil, err
	}
	acquire.Session, err = a.namedSession(ctx, r.GetSessionId(), r.GetOptions(), call.Operator{})
	return acquire, err
}

// checkPermits refuses permits that do not fit the mode, and gives a semaphore's request its one permit.
func checkPermits(acquire *storev1.AcquireLock) error {
	if acquire.GetMode() != storev1.LockMode_LOCK_MODE_SEMAPHORE {
		if acquire.GetPermits() != 0 || acquire.GetLimit() != 0 {
			return reason.Invalid("permits", "permits and limit are only for LOCK_MODE_SEMAPHORE")
		}
		return nil
	}
	if acquire.GetLimit() == 0 {
		return reason.Invalid("limit", "is required with LOCK_MODE_SEMAPHORE")
	}
	acquire.Permits = max(acquire.GetPermits(), 1)
	if acquire.GetPermits() > acquire.GetLimit() {
		return reason.Invalid("permits", "is %d; the limit is %d", acquire.GetPermits(), acquire.GetLimit())
	}
	return nil
}

// namedSession is SessionRef for a request that must name a session.
func (a *Locks) namedSession(
	ctx context.Context, text string, o *tenurev1.CallOptions, op call.Operator,
) (*storev1.SessionRef, error) {
	if _, err := call.ParseSession("session_id", text); err != nil {
		return nil, err
	}
	return a.SessionRef(ctx, "session_id", text, o, op)
}

// TryAcquireLock serves LockService.
func (a *Locks) TryAcquireLock(
	ctx context.Context, r *tenurev1.TryAcquireLockRequest,
) (*tenurev1.TryAcquireLockResponse, error) {
	acquire, err := a.acquireFromProto(ctx, r)
	if err != nil {
		return nil, err
	}
	acquire.Value = r.GetValue()
	if r.GetWait().AsDuration() > call.TryWaitMax {
		return nil, reason.Invalid("wait", "is longer than %v; use AcquireLock to wait longer", call.TryWaitMax)
	}
	acquire.Queue = acquire.GetWaitMs() > 0
	change := call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: acquire}},
	}
	var result *storev1.Result
	if acquire.GetQueue() {
		result, err = a.proposeOrLeave(ctx, tenurev1.LockService_TryAcquireLock_FullMethodName, change)
	} else {
		result, err = a.Propose(ctx, change)
	}
	if err != nil {
		return nil, err
	}
	response := &tenurev1.TryAcquireLockResponse{Header: a.HeaderOf(result)}
	done := result.GetAcquireLock()
	switch {
	case done.GetHold() != nil:
		response.Acquired = true
		response.Hold = call.HoldToProto(done.GetHold(), a.History(), a.Timers)
		return response, nil
	case done.GetRefused() != nil:
		response.Lock = a.LockTimes(ctx, call.LockToProto(done.GetRefused(), a.History(), a.Timers))
		return response, nil
	case !acquire.GetQueue(): // Another call of the same session and owner waits for it.
		response.Lock = a.LockTimes(ctx, call.LockToProto(done.GetLock(), a.History(), a.Timers))
		return response, nil
	}
	waitCtx, cancel := a.UntilStop(ctx)
	defer cancel()
	if done.GetAttached() {
		// The leader times the place as the call that made it asked; this call has a time of its own.
		waitCtx, cancel = context.WithTimeoutCause(waitCtx, r.GetWait().AsDuration(), errWaitOver)
		defer cancel()
	}
	w := newWaiting(acquire, r.GetOptions().GetSessionSecret(), result)
	err = a.await(waitCtx, w, func(step *tenurev1.AcquireLockResponse) error {
		response.Header = step.GetHeader()
		response.Hold = step.GetGranted()
		response.Acquired = response.GetHold() != nil
		response.Lock = step.GetRejected().GetLock()
		return nil
	})
	if err != nil {
		a.leaveQueue(ctx, w)
		return nil, reason.AfterChange(err)
	}
	if response.GetAcquired() || response.GetLock() != nil {
		return response, nil
	}
	return a.waitedInVain(ctx, w, response)
}

// waitedInVain answers a call whose own time is over, while the place that it found lasts for others: it leaves them the place, or takes it away if it was
// the last. If the grant came first, it has the lock.
func (a *Locks) waitedInVain(
	ctx context.Context, w *waiting, response *tenurev1.TryAcquireLockResponse,
) (*tenurev1.TryAcquireLockResponse, error) {
	left := a.leaveQueue(ctx, w)
	if hold := left.GetCancelWait().GetHold(); hold != nil {
		response.Header, response.Acquired = a.HeaderOf(left), true
		response.Hold = call.HoldToProto(hold, a.History(), a.Timers)
		return response, nil
	}
	var err error
	if response.Lock, err = a.lockNow(w.acquire.GetKey()); err != nil {
		return nil, reason.AfterChange(err)
	}
	return response, nil
}

// leaveQueueTimeout bounds how long a broken call tries to give its place up. If it fails, the leader's timer or the
// session's end does it.
const leaveQueueTimeout = 5 * time.Second

// leaveQueue says that a call does not wait on its place any more, and returns what came of it; nil: nothing. The last one gives the place up; before
// waits are counted, only the call that made it does, if no other has found it. Where this member ends the call or its connection, its client comes back.
func (a *Locks) leaveQueue(ctx context.Context, w *waiting) *storev1.Result {
	if a.Stopping.Err() != nil || errors.Is(context.Cause(ctx), reason.ErrStopping) ||
		w.attached && !storage.CountsWaits(a.Node.Store().Applied().ClusterVersion) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveQueueTimeout)
	defer cancel()
	left, err := a.Propose(ctx, call.Change{
		Options: &tenurev1.CallOptions{SessionSecret: w.secret},
		Command: &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key:         w.acquire.GetKey(),
			Session:     w.acquire.GetSession(),
			Owner:       w.acquire.GetOwner(),
			Place:       w.place,
			UnlessFound: true,
		}}},
	})
	if err != nil {
		a.Log.Debug("place of a broken call stays", zap.Error(err))
	}
	return left
}

// proposeOrLeave is Propose for a call that gives its place up when it breaks: if it breaks while the command is under way,
// the place that comes of it is left. A hold that comes of it stays, as one that is granted to a call that waits.
func (a *Locks) proposeOrLeave(ctx context.Context, method string, change call.Change) (*storev1.Result, error) {
	acquire, secret := change.Command.GetAcquireLock(), change.Options.GetSessionSecret()
	return a.undoer.Propose(ctx, method, change, func(result *storev1.Result) {
		if result.GetAcquireLock().GetPlace() != nil {
			a.leaveQueue(ctx, newWaiting(acquire, secret, result))
		}
	})
}

// CancelWait serves LockService.
func (a *Locks) CancelWait(ctx context.Context, r *tenurev1.CancelWaitRequest) (*tenurev1.CancelWaitResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	use := call.OptionUse{Session: true, Owner: true, Guards: true, Request: true}
	if err := call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	ref, err := a.namedSession(ctx, r.GetSessionId(), r.GetOptions(), call.Operator{})
	if err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key:     r.GetKey(),
			Session: ref,
			Owner:   r.GetOptions().GetOwner(),
		}}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.CancelWaitResponse{
		Header:    a.HeaderOf(result),
		Cancelled: result.GetCancelWait().GetCancelled(),
		Hold:      call.HoldToProto(result.GetCancelWait().GetHold(), a.History(), a.Timers),
	}, nil
}

// ReleaseLock serves LockService.
func (a *Locks) ReleaseLock(ctx context.Context, r *tenurev1.ReleaseLockRequest) (*tenurev1.ReleaseLockResponse, error) {
	release, err := a.releaseFromProto(ctx, r)
	if err != nil {
		return a.releasedBefore(r.GetKey(), err)
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: release}},
	})
	if err != nil {
		return a.releasedBefore(r.GetKey(), err)
	}
	done := result.GetReleaseLock()
	if release.GetForce() && done.GetReleased() {
		logForce(ctx, a.Log, release.GetSession(), release.GetReason())
	}
	return &tenurev1.ReleaseLockResponse{
		Header:   a.HeaderOf(result),
		Released: done.GetReleased(),
		Granted:  done.GetGranted(),
		Lock:     a.LockTimes(ctx, call.LockToProto(done.GetLock(), a.History(), a.Timers)),
	}, nil
}

// logForce logs that an operator released a hold of a session.
func logForce(ctx context.Context, log *zap.Logger, of *storev1.SessionRef, why string) {
	log.Info("lock released by force", zap.String("session_id", call.SessionText(of.GetSessionId())),
		zap.String("reason", why), zap.String("by", gate.Address(ctx)))
}

// releaseFromProto validates a release and checks that the caller may act as the session.
func (a *Locks) releaseFromProto(ctx context.Context, r *tenurev1.ReleaseLockRequest) (*storev1.ReleaseLock, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	if err := call.CheckValue("put", r.GetPut()); err != nil {
		return nil, err
	}
	forced := r.GetOptions().GetForce()
	use := call.OptionUse{
		Session: true, Owner: true, Force: true, Reason: forced, Guards: true, Request: true, Key: true,
	}
	if err := call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	op, err := call.ParseOperator(false, "", r.GetOptions())
	if err != nil {
		return nil, err
	}
	ref, err := a.namedSession(ctx, r.GetSessionId(), r.GetOptions(), op)
	if err != nil {
		return nil, err
	}
	release := &storev1.ReleaseLock{
		Key:       r.GetKey(),
		Session:   ref,
		Owner:     r.GetOptions().GetOwner(),
		LockIndex: r.GetLockIndex(),
		Force:     op.Force,
		Reason:    op.Reason,
	}
	switch value := r.GetValueOp().(type) {
	case *tenurev1.ReleaseLockRequest_Put:
		release.ValueOp = &storev1.ReleaseLock_Put{Put: value.Put}
	case *tenurev1.ReleaseLockRequest_Delete:
		if value.Delete {
			release.ValueOp = &storev1.ReleaseLock_Delete{Delete: true}
		}
	}
	return release, nil
}

// releasedBefore turns the refusal to release for a session that has ended into an answer: it holds nothing.
func (a *Locks) releasedBefore(key string, err error) (*tenurev1.ReleaseLockResponse, error) {
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED {
		return nil, err
	}
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	info, _, err := s.Lock(key)
	return &tenurev1.ReleaseLockResponse{
		Header: a.Header(s.At),
		Lock:   call.LockToProto(info.State, s.At.HistoryID, a.Timers),
	}, err
}

// CheckSequencer serves LockService.
func (a *Locks) CheckSequencer(
	ctx context.Context, r *tenurev1.CheckSequencerRequest,
) (*tenurev1.CheckSequencerResponse, error) {
	proof, id, err := parseProof(r)
	if err != nil {
		return nil, err
	}
	if err = call.CheckHistory("history_id", proof.GetHistoryId(), a.History()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	hold, found, err := s.Hold(proof.GetKey(), proof.GetLockIndex())
	if err != nil {
		return nil, err
	}
	info, _, err := s.Lock(proof.GetKey())
	if err != nil {
		return nil, err
	}
	holds := found && !hold.GetDelayed() && hold.GetFencingToken() == proof.GetFencingToken() &&
		string(hold.GetSessionId()) == string(id[:])
	if holds && s.At.EndMarks > 0 {
		if holds, err = unmarked(s, id); err != nil {
			return nil, err
		}
	}
	return &tenurev1.CheckSequencerResponse{
		Header: a.Header(s.At),
		Holds:  holds,
		Lock:   a.LockTimes(ctx, call.LockToProto(info.State, s.At.HistoryID, a.Timers)),
	}, nil
}

// unmarked reports whether a session that holds a lock lives: one that the end list has ended holds it until that is carried out, and
// every guard refuses it.
func unmarked(s *call.Snapshot, id storage.SessionID) (bool, error) {
	record, live, err := s.Session(id)
	if err != nil || !live {
		return false, err
	}
	_, marked, err := s.Marked(record)
	return !marked, err
}

// parseProof reads a sequencer in either form.
func parseProof(r *tenurev1.CheckSequencerRequest) (*tenurev1.Sequencer, storage.SessionID, error) {
	proof := r.GetSequencer()
	if text, ok := r.GetProof().(*tenurev1.CheckSequencerRequest_Text); ok {
		parsed, err := sequencer.Parse(text.Text)
		if err != nil {
			return nil, storage.SessionID{}, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID, "text", "%s", err)
		}
		proof = parsed
	}
	id, err := storage.ParseSessionID(proof.GetSessionId())
	if err = errors.Join(err, call.CheckKey("key", proof.GetKey())); err != nil {
		return nil, id, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID, "sequencer", "is not a sequencer")
	}
	return proof, id, nil
}
