package consulhttp

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Texts that programs look for.
const (
	textNoSession  = "missing session"
	textBadSession = "invalid session"
)

// metadataTTL keeps the TTL that a session asked for, as it was written.
const metadataTTL = "consul-ttl"

// sessionJSON is a session as Consul shows it.
type sessionJSON struct {
	ID            string
	Name          string
	Node          string
	LockDelay     int64 // in nanoseconds
	Behavior      string
	TTL           string
	NodeChecks    []string
	ServiceChecks []serviceCheckJSON // null if there are none
	CreateIndex   uint64
	ModifyIndex   uint64
}

// serviceCheckJSON names a check of a service.
type serviceCheckJSON struct {
	ID        string
	Namespace string
}

// sessionOf returns a session as Consul shows it.
func sessionOf(s *tenurev1.Session) sessionJSON {
	out := sessionJSON{
		ID: s.GetSessionId(), Name: s.GetName(), Node: s.GetNode(), LockDelay: s.GetLockDelay().AsDuration().Nanoseconds(),
		Behavior: behaviorRelease, NodeChecks: []string{},
		CreateIndex: s.GetCreateRevision(), ModifyIndex: s.GetCreateRevision(),
	}
	for _, id := range s.GetChecks().GetNodeChecks() {
		out.NodeChecks = append(out.NodeChecks, wire.CheckName(id))
	}
	for _, id := range s.GetChecks().GetServiceChecks() {
		out.ServiceChecks = append(out.ServiceChecks, serviceCheckJSON{ID: id})
	}
	if s.GetBehavior() == tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE {
		out.Behavior = behaviorDelete
	}
	ttl, asked := s.GetMetadata()[metadataTTL]
	switch {
	case asked:
		out.TTL = ttl
	case s.GetTtl().AsDuration() > 0:
		out.TTL = s.GetTtl().AsDuration().Round(time.Millisecond).String()
	}
	return out
}

// noSuchSession are the reasons for which there is no session.
var noSuchSession = []tenurev1.ErrorReason{
	tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND,
	tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
	tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID,
}

// sessionEndpoints serve sessions.
type sessionEndpoints struct {
	*core
	catalog *catalog
}

// routes returns the paths of sessions.
func (e *sessionEndpoints) routes() []route {
	return []route{
		{path: "session/create", methods: put(e.createSession)},
		{path: "session/destroy/", methods: put(e.destroySession)},
		{path: "session/renew/", methods: put(e.renewSession)},
		{path: "session/info/", methods: get(e.sessionInfo)},
		{path: "session/node/", methods: get(e.sessionsOfNode)},
		{path: "session/list", methods: get(e.listSessions)},
	}
}

// destroySession serves PUT /v1/session/destroy/ID.
func (e *sessionEndpoints) destroySession(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing session")
	}
	if utf8.ValidString(q.Rest) {
		_, err := e.sessions.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: q.Rest})
		if err = ignoring(err, noSuchSession...); err != nil {
			return nil, err
		}
	}
	return &reply.Answer{JSON: true}, nil
}

// renewSession serves PUT /v1/session/renew/ID.
func (e *sessionEndpoints) renewSession(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing session")
	}
	missing := reply.Refusal(http.StatusNotFound, "Session id '%s' not found", reply.Shown(q.Rest))
	if !utf8.ValidString(q.Rest) {
		return nil, missing
	}
	renewed, err := e.sessions.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: q.Rest})
	if err != nil {
		if ignoring(err, noSuchSession...) == nil {
			return nil, missing
		}
		return nil, err
	}
	return &reply.Answer{JSON: []sessionJSON{sessionOf(renewed.GetSession())}}, nil
}

// sessionInfo serves GET /v1/session/info/ID.
func (e *sessionEndpoints) sessionInfo(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing session")
	}
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	id := strings.ToLower(q.Rest)
	if !wire.UUIDShaped(id) {
		id = "00000000-0000-0000-0000-000000000000" // No session has it.
	}
	get := &tenurev1.GetSessionRequest{SessionId: id, Read: ask.ReadOptions(r.consistency)}
	r.selection = selection{request: &tenurev1.WatchRequest{SessionIds: []string{id}}, counts: begunOrEnded, counted: "sessions"}
	r.settled = e.sessionSettled(get)
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		found, err := e.sessions.GetSession(ctx, get)
		revision := found.GetHeader().GetRevision()
		if err != nil {
			if ignoring(err, noSuchSession...) != nil {
				return nil, err
			}
			revision = reply.RevisionOf(err)
		}
		out := []sessionJSON{}
		if err == nil && found.GetSession().GetEnd() == nil {
			out = append(out, sessionOf(found.GetSession()))
		}
		s, err := e.stateAt(ctx, r, waited, at(revision))
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{JSON: out}).Of(s), nil
	})
}

// sessionSettled returns what tells up to which revision a session is the same as at an index.
func (e *sessionEndpoints) sessionSettled(get *tenurev1.GetSessionRequest) func(context.Context, uint64) (uint64, error) {
	return func(ctx context.Context, index uint64) (uint64, error) {
		found, err := e.sessions.GetSession(ctx, get)
		s := found.GetSession()
		if err != nil || s.GetEnd() != nil || s.GetCreateRevision() > index || found.GetHeader().GetRevision() < index {
			return 0, ignoring(err, noSuchSession...)
		}
		return found.GetHeader().GetRevision(), nil
	}
}

// begunOrEnded counts what changes a list of sessions: who uses a session does not show.
func begunOrEnded(_ context.Context, e *tenurev1.Event) (bool, error) {
	return e.GetType() != tenurev1.EventType_EVENT_TYPE_SESSION_TAKEN_OVER, nil
}

// listSessions serves GET /v1/session/list.
func (e *sessionEndpoints) listSessions(ctx context.Context, q *request) (*reply.Answer, error) {
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	return e.sessionList(ctx, r, "", begunOrEnded)
}

// sessionsOfNode serves GET /v1/session/node/NODE.
func (e *sessionEndpoints) sessionsOfNode(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing node name")
	}
	if !utf8.ValidString(q.Rest) {
		return nil, reply.Refusal(http.StatusBadRequest, "The node name is not valid UTF-8.")
	}
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	return e.sessionList(ctx, r, q.Rest, func(ctx context.Context, event *tenurev1.Event) (bool, error) {
		switch event.GetType() {
		case tenurev1.EventType_EVENT_TYPE_SESSION_BEGUN:
			return strings.EqualFold(event.GetSession().GetNode(), q.Rest), nil
		case tenurev1.EventType_EVENT_TYPE_SESSION_ENDED:
			ended, err := e.sessions.GetSession(ctx, &tenurev1.GetSessionRequest{
				SessionId: event.GetSession().GetSessionId(), Read: &tenurev1.ReadOptions{Stale: true},
			})
			// One that is forgotten already, or may be seen no longer, may have been of this node.
			return err != nil || strings.EqualFold(ended.GetSession().GetNode(), q.Rest),
				ignoring(err, append([]tenurev1.ErrorReason{tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED}, noSuchSession...)...)
		default:
			return false, nil
		}
	})
}

// sessionPages reads the sessions of a node, or all, that the caller may read.
func (e *sessionEndpoints) sessionPages(ctx context.Context, r read, node string) (*reply.Pages[*tenurev1.Session], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.Session], error) {
		list, err := e.sessions.ListSessions(ctx, &tenurev1.ListSessionsRequest{
			Node: node, PageToken: token, Read: ask.ReadOptions(r.consistency), VisibleOnly: true,
		})
		return reply.Page[*tenurev1.Session]{Items: list.GetSessions(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// sessionList answers with the sessions of a node, or all.
func (e *sessionEndpoints) sessionList(
	ctx context.Context, r read, node string, counts func(context.Context, *tenurev1.Event) (bool, error),
) (*reply.Answer, error) {
	r.selection = selection{request: &tenurev1.WatchRequest{AllSessions: true}, counts: counts, counted: "sessions of " + strings.ToLower(node)}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		list, err := e.sessionPages(ctx, r, node)
		if err != nil {
			return nil, err
		}
		// What changes while the other pages are read is after this index.
		s, err := e.stateAt(ctx, r, waited, list.Header())
		if err != nil {
			return nil, err
		}
		first := func(*tenurev1.Session) int { return 0 }
		return (&reply.Answer{Long: list.Long(), Stream: list.Array(ctx, 1, first, func(s *tenurev1.Session) ([]any, error) {
			if s.GetEnd() != nil { // What it holds may still be to be freed.
				return nil, nil
			}
			return []any{sessionOf(s)}, nil
		})}).Of(s), nil
	})
}
