package renewal

import (
	"context"
	"io"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

// RenewSession renews one session, and returns it.
func (a *Renewer) RenewSession(
	ctx context.Context, r *tenurev1.RenewSessionRequest,
) (*tenurev1.RenewSessionResponse, error) {
	id, err := call.ParseSession("session_id", r.GetSessionId())
	if err != nil {
		return nil, err
	}
	if err = call.CheckOptions(r.GetOptions(), call.OptionUse{Session: true}); err != nil {
		return nil, err
	}
	if err = a.renewOne(ctx, id, r.GetOptions()); err != nil {
		return nil, err
	}
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	record, err := call.LiveAt(s, id)
	if err != nil {
		return nil, err
	}
	return &tenurev1.RenewSessionResponse{
		Header:  a.Header(s.At),
		Session: a.SessionTimes(ctx, a.WithTimer(id, call.SessionToProto(id, record))),
	}, nil
}

// oneCall is the caller's end of a single renewal, which is a stream of one.
type oneCall struct {
	*line
	id      storage.SessionID
	options *tenurev1.CallOptions
	checked bool // what the caller may
	refused tenurev1.ErrorReason
	near    error // why this member refused, if it did
}

// renewOne renews one session, here or where the leader is. Where a KeepAlive stream would leave it to its client to ask
// again, it does so itself.
func (a *Renewer) renewOne(ctx context.Context, id storage.SessionID, o *tenurev1.CallOptions) error {
	c := &oneCall{id: id, options: o}
	c.line = newLine(a, c, core.Config{Origin: core.Call})
	c.stop = a.Stopping.Done()
	defer c.close()
	_, below, err := a.Authorised(ctx)
	if err != nil {
		return err
	}
	c.came([]core.Asked{{ID: id, Epoch: o.GetEpoch(), Secret: call.Hashed(o.GetSessionSecret()), AuthorisedBelow: below}})
	c.ended(io.EOF)
	switch err = c.serve(ctx); {
	case err != nil:
		return err
	case c.near != nil:
		return c.near
	case c.refused != 0:
		return a.renewalError(ctx, id, c.refused)
	default:
		return nil
	}
}

// receive is never called: nothing comes but the renewal.
func (c *oneCall) receive() ([]core.Asked, error) { return nil, io.EOF }

// check checks once what the caller may.
func (c *oneCall) check(ctx context.Context) error {
	if c.checked {
		return nil
	}
	c.checked = true
	return c.api.ActAs(ctx, c.id, call.Hashed(c.options.GetSessionSecret()), c.options)
}

func (c *oneCall) prove(ctx context.Context) (core.Event, error) {
	term, err := c.api.renewalProof(ctx)
	if err == nil {
		return core.Proved{Term: term}, nil
	}
	if !leader.MayComeRight(ctx, err, true) {
		return core.Unproved{Err: err}, nil
	}
	if err = c.check(ctx); err != nil {
		return nil, err
	}
	return core.Elsewhere{Until: time.Now().Add(c.api.Relay.Patience)}, nil
}

// settle settles the renewal.
func (c *oneCall) settle(ctx context.Context, t core.Settle) error {
	// After the proof, so that a session made elsewhere a moment ago is known.
	if r := &t.Renewals[0]; !c.checked && c.api.Timers.Secret(r) == expiry.SecretAbsent {
		return c.missing()
	} else if err := c.check(ctx); err != nil {
		return err
	}
	t.Renewals[0].Unproven = false
	judge := c.api.judge(nil)
	if judge.Marks {
		if err := c.lives(); err != nil {
			return err
		}
	}
	if judge.Outdated(&t.Renewals[0]) {
		t.Refuse(0, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED)
		c.api.Timers.Release(t.Renewals)
		return nil
	}
	c.api.Timers.Settle(t.Term, t.Renewals)
	switch t.Renewals[0].Verdict {
	case expiry.Missing:
		c.near = c.missing()
		t.Refuse(0, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND) // or another reason: near says it
	case expiry.NotLeading:
		c.near = reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "this member lost the leadership in the meantime")
	default:
	}
	return nil
}

// missing returns the error for a session that the timers do not have.
func (c *oneCall) missing() error {
	if err := c.lives(); err != nil {
		return err
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "this member does not track the TTL of session %s yet", c.id)
}

// lives returns why the session does not live, as far as this member knows; nil if it does.
func (c *oneCall) lives() error {
	s, err := c.api.LocalSnapshot()
	if err != nil {
		return err
	}
	defer c.api.CloseSnapshot(s)
	c.api.looked.Add(1)
	_, err = call.LiveAt(s, c.id)
	return err
}

// authorise decides again whether the caller may renew.
func (c *oneCall) authorise(ctx context.Context, asked []core.Asked) error {
	err := c.api.AuthoriseAgain(ctx)
	if err != nil {
		return err
	}
	_, asked[0].AuthorisedBelow, err = c.api.Authorised(ctx)
	return err
}

// send takes the verdict.
func (c *oneCall) send(verdicts []core.Verdict) error {
	c.refused = verdicts[0].Refused
	return nil
}

func (c *oneCall) rest() error { return nil }

func (c *oneCall) noted(*core.Effects) {}

// awaitLeader waits until another leader may be known, but no longer than until.
func (a *Renewer) awaitLeader(ctx context.Context, until time.Time) core.Event {
	_, changed := a.Relay.Present()
	retry := time.NewTimer(min(leader.Retry, time.Until(until)))
	defer retry.Stop()
	select {
	case <-changed:
	case <-retry.C:
	case <-ctx.Done():
	}
	return core.Again{Over: ctx.Err() != nil}
}

// renewalError returns the error for a renewal that was refused.
func (a *Renewer) renewalError(ctx context.Context, id storage.SessionID, refused tenurev1.ErrorReason) error {
	switch refused {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		s, err := a.Reader(ctx, nil)
		if err != nil {
			return err
		}
		defer a.CloseSnapshot(s)
		if _, err = call.LiveAt(s, id); err != nil {
			return err
		}
		return call.NoSession(s, id)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED:
		return reason.New(refused, "another instance took over session %s", id).With("session_id", id.String())
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return call.SecretWrong(id, true)
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return reason.ErrStopping
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
			"there is no leader that could renew session %s; most members may be down", id)
	default:
		return reason.New(refused, "the leader did not renew session %s", id)
	}
}
