package audit

import (
	"context"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Call is a call under way. A nil one is not written down. Any goroutine may call any method: a stream of renewals is read by another one than it is answered
// by.
type Call struct {
	log     *Log
	began   time.Time
	method  string
	address string
	via     string
	trace   string
	note    *access.Note

	mu       sync.Mutex // guards what follows; the log's comes after it
	refused  map[refusedRenewal]struct{}
	needs    needed
	target   *Target // nil: nothing about tokens and policies is changed
	class    Class
	own      bool // the target is the caller's own token
	asks     bool // for a nonce to be written, as it shows none
	reserved bool
	revision uint64
}

// From says where a call comes from.
type From struct {
	// Address is the network address of the client.
	Address string
	// Via is the way of the call: grpc, rest or consul.
	Via string
}

// Begin begins a call. It runs under the context that Begin returns, and End must be called.
func (l *Log) Begin(ctx context.Context, method string, from func(context.Context) From) (context.Context, *Call) {
	if !l.On() {
		return ctx, nil
	}
	where := from(ctx)
	c := &Call{
		log: l, began: time.Now(), method: method, address: where.Address, via: where.Via, trace: traceOf(ctx), class: Reads,
	}
	ctx, c.note = access.WithNote(ctx)
	return ctx, c
}

// Message is called with each message that came, before anything is decided about it. An error refuses the call, because its line
// would be lost.
func (c *Call) Message(request any) error {
	if c == nil {
		return nil
	}
	needs, known := needsOf(c.log.table, request)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.needs, c.class = firstOf(needs), classOf(c.method, needs, known)
	c.target = targetOf(request)
	if r, ok := request.(interface{ GetAccessor() string }); ok {
		c.own = r.GetAccessor() == ""
	}
	if r, ok := request.(interface{ GetNonce() string }); ok {
		c.asks = r.GetNonce() == ""
	}
	return c.reserve()
}

// Needs is Message for a call whose needs are known without a message.
func (c *Call) Needs(needs []authz.Need) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.needs, c.class = firstOf(needs), classOf(c.method, needs, true)
	return c.reserve()
}

// reserve keeps room for the line of a change, where one without a line is refused. The caller holds the lock.
func (c *Call) reserve() error {
	changes := c.class == Admin || c.class == Changes
	if c.log.o.Full != Refuse || !changes || !c.log.o.Classes[c.class] || c.reserved || gives(c.method) {
		return nil
	}
	if c.reserved = c.log.reserve(); c.reserved {
		return nil
	}
	c.log.metrics.refused.Inc()
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE,
		"this member cannot write its audit log, and refuses changes until it can; `tenure status` shows why")
}

// Answered is called with the response of a call.
func (c *Call) Answered(response any) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := response.(interface {
		GetHeader() *tenurev1.ResponseHeader
	}); ok {
		c.revision = r.GetHeader().GetRevision()
	}
	c.target.answered(response)
}

// End queues the line of a call that ends with a status; nil: it went well.
func (c *Call) End(why tenurev1.ErrorReason, failed error) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	grant, facts := c.note.Grant(), factsOf(failed)
	decision := c.decision(grant, why)
	if c.asks && facts["needs"] == "nonce" {
		decision = Asked
	}
	denied := decision == Refused || decision == WouldDeny && c.method != tenurev1.SessionService_KeepAlive_FullMethodName // Each renewal had its line.
	wanted := c.log.o.Classes[c.class] || denied && c.log.o.Classes[Denied]
	if !wanted {
		if c.reserved {
			c.log.free()
		}
		return
	}
	line := Line{
		Time: c.began, TraceID: strings.Clone(c.trace), Address: c.address, Via: c.via, Method: clip(strings.TrimPrefix(c.method, "/")),
		Needs: c.needs.texts(), NeedsCount: c.needs.count, Session: c.needs.session(), Target: c.target,
		Decision: decision, Reason: reason.Label(why), Revision: c.revision, Took: time.Since(c.began),
	}
	who := whoOf(grant)
	if who != nil {
		line.Principal, line.Credential = who.Principal, who.Credential.String()
		if accessor, isToken := strings.CutPrefix(who.Principal, "token:"); isToken && c.own && c.target != nil {
			c.target.Token = accessor
		}
	}
	line.RequestID = facts["request_id"]
	if c.class == Admin || c.class == Changes {
		line.Applied = reason.AppliedYes
		if failed != nil {
			line.Applied = facts["applied"]
		}
	}
	room := queueMax
	if !c.log.o.Classes[c.class] || decision == Refused || who == nil && facts["applied"] == reason.AppliedNo {
		room = refusedMax
	}
	c.log.add(line, c.reserved, room)
}

// whoOf returns the caller of a call about which was decided; nil if nothing was.
func whoOf(grant *access.Grant) *access.Who {
	if grant == nil {
		return nil
	}
	return grant.Who()
}

// decision returns what was decided about a call.
func (c *Call) decision(grant *access.Grant, why tenurev1.ErrorReason) Decision {
	switch {
	case refuses(why):
		return Refused
	case grant != nil && grant.WouldDeny():
		return WouldDeny
	default:
		return Allowed
	}
}

// refuses reports whether a reason is the want of a right or of a credential.
func refuses(why tenurev1.ErrorReason) bool {
	switch why {
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return true
	default:
		return false
	}
}

// factsOf returns what the status of a call says beside its text.
func factsOf(failed error) map[string]string {
	if failed == nil {
		return nil
	}
	return reason.In(status.Convert(failed)).GetMetadata()
}

// traceOf returns the id of the trace that a call belongs to, as its traceparent says; empty: none.
func traceOf(ctx context.Context) string {
	given := metadata.ValueFromIncomingContext(ctx, "traceparent")
	if len(given) != 1 || len(given[0]) < 55 || given[0][2] != '-' || given[0][35] != '-' {
		return ""
	}
	id := given[0][3:35]
	if _, err := hex.DecodeString(id); err != nil {
		return ""
	}
	return id
}

// Handshake notes a handshake that failed. Floods of them leave half of the room to calls.
func (l *Log) Handshake(address, via, cause string) {
	l.Refused(address, via, handshakes+strings.ToUpper(cause))
}

// Refused notes somebody who was refused before it was known what they want, and why. Floods of them leave half of the room to calls.
func (l *Log) Refused(address, via, reason string) {
	if !l.On() || !l.o.Classes[Denied] {
		return
	}
	l.add(Line{
		Time: time.Now(), Address: address, Via: via, Decision: Refused, Reason: reason,
	}, false, refusedMax)
}

// Events notes the sessions that ended although no call asked for it. Only the leader is to call it, so that each is noted once.
func (l *Log) Events(events []*storev1.Event) {
	if !l.On() || !l.o.Classes[Changes] {
		return
	}
	for _, e := range events {
		ended := e.GetSessionEnded()
		switch ended.GetCause() {
		case storev1.SessionEndCause_SESSION_END_CAUSE_UNSPECIFIED, storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED,
			storev1.SessionEndCause_SESSION_END_CAUSE_FORCED: // None, or a call that has a line.
			continue
		default:
		}
		id, err := storage.SessionIDFromBytes(ended.GetSessionId())
		if err != nil {
			continue
		}
		l.add(Line{
			Time: time.UnixMilli(e.GetWallTimeMs()), Via: viaLeader, Event: "session_ended", Session: id.String(), Decision: ByItself,
			Reason:  strings.TrimPrefix(ended.GetCause().String(), "SESSION_END_CAUSE_"),
			Applied: reason.AppliedYes, Revision: e.GetRevision(),
		}, false, queueMax)
	}
}
