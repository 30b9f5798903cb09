package audit

import (
	"slices"
	"strings"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
)

// renewalsMax is how many refused renewals of one stream are lines of their own; one more line stands for all others. A stream may renew many sessions, each
// of them again and again.
const renewalsMax = 64

// refusedRenewal is why the renewals of a session are refused. Each is a line once on a stream.
type refusedRenewal struct {
	session  string
	decision Decision
	reason   tenurev1.ErrorReason
}

// Renewals is called with each message of a stream that is served, and once it was decided about: renewals that are served only because of the mode are
// lines.
func (c *Call) Renewals(message any) error {
	renewals, ok := message.(*tenurev1.KeepAliveRequest)
	if c == nil || !ok {
		return nil
	}
	grant := c.note.Grant()
	if grant == nil || !grant.WouldDeny() || c.knows(renewals) {
		return nil
	}
	sessions, err := grant.Lacking()
	for _, session := range sessions {
		c.renewal(refusedRenewal{session: session, decision: WouldDeny})
	}
	return err
}

// knows reports whether nothing about the sessions of a message would be a line any more, as they would all be denied.
func (c *Call) knows(m *tenurev1.KeepAliveRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.refused) > renewalsMax || len(m.GetRenewals()) > 0 && !slices.ContainsFunc(m.GetRenewals(), func(r *tenurev1.SessionRenewal) bool {
		_, known := c.refused[refusedRenewal{session: clip(r.GetSessionId()), decision: WouldDeny}]
		return !known
	})
}

// Verdicts is called with each message that a stream sends: renewals that are refused for want of a right, or of the secret, are lines.
func (c *Call) Verdicts(message any) {
	answer, ok := message.(*tenurev1.KeepAliveResponse)
	if c == nil || !ok {
		return
	}
	for _, v := range answer.GetVerdicts() {
		if refuses(v.GetRefused()) {
			c.renewal(refusedRenewal{session: v.GetSessionId(), decision: Refused, reason: v.GetRefused()})
		}
	}
}

// renewal queues the line of a renewal, unless there was one for it, or there were too many.
func (c *Call) renewal(r refusedRenewal) {
	if !c.log.o.Classes[Denied] {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.session = clip(r.session)
	if _, known := c.refused[r]; known || len(c.refused) > renewalsMax {
		return
	}
	if c.refused == nil {
		c.refused = map[refusedRenewal]struct{}{}
	}
	c.refused[r] = struct{}{}
	line := Line{
		Time: time.Now(), TraceID: strings.Clone(c.trace), Address: c.address, Via: c.via, Method: strings.TrimPrefix(c.method, "/"),
		Decision: r.decision, Reason: reason.Label(r.reason),
	}
	if len(c.refused) <= renewalsMax { // Else it stands for all that come.
		needs := firstOf([]authz.Need{{Kind: authz.Session, Verb: authz.Write, By: authz.BySession, ID: r.session}})
		line.Needs, line.NeedsCount, line.Session = needs.texts(), needs.count, r.session
	}
	if who := whoOf(c.note.Grant()); who != nil {
		line.Principal, line.Credential = who.Principal, who.Credential.String()
	}
	c.log.add(line, false, refusedMax)
}
