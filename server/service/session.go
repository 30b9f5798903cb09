package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
	nodes "github.com/tenure-io/tenure/storage/catalog"
)

const (
	// principalsMax is of how many principals sessions are listed at once: those of all tokens that end with one.
	principalsMax = 256
	// principalBytesMax is how long a principal is at most.
	principalBytesMax = 2048
)

// CreateSession serves SessionService.
func (a *Sessions) CreateSession(
	ctx context.Context, r *tenurev1.CreateSessionRequest,
) (*tenurev1.CreateSessionResponse, error) {
	create, err := a.createFromProto(r)
	if err != nil {
		return nil, err
	}
	if err = a.share.admit(ctx, len(r.GetOptions().GetIdempotencyKey()) > 0); err != nil {
		return nil, err
	}
	if err = a.awaitLiveness(ctx, create); err != nil {
		return nil, err
	}
	create.PeerAddress = gate.Address(ctx)
	id := uuid.New()
	create.SessionId = id[:]
	secret := r.GetSecret()
	if r.GetWantSecret() {
		secret = make([]byte, gate.SecretBytes)
		_, _ = rand.Read(secret) // It never fails; see crypto/rand.
	}
	create.SecretSha256 = call.Hashed(secret)
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: create}},
	})
	if err != nil {
		return nil, err
	}
	created := result.GetCreateSession()
	ttl := time.Duration(created.GetTtlMs()) * time.Millisecond
	response := &tenurev1.CreateSessionResponse{
		Header:            a.HeaderOf(result),
		SessionId:         call.SessionText(created.GetSessionId()),
		Ttl:               durationpb.New(ttl),
		LockDelay:         call.MsToProto(created.GetLockDelayMs()),
		Epoch:             created.GetEpoch(),
		CreateRevision:    created.GetCreateRevision(),
		KeepaliveInterval: durationpb.New(min(ttl/3, call.KeepaliveIntervalMax)),
		NodeId:            call.SessionText(created.GetNodeId()),
		Checks:            call.ChecksToProto(created.GetNodeChecks(), created.GetServiceChecks()),
	}
	if r.GetWantSecret() {
		response.Secret = secret
	}
	return response, nil
}

// createFromProto validates a new session.
func (a *Sessions) createFromProto(r *tenurev1.CreateSessionRequest) (*storev1.CreateSession, error) {
	if err := checkTexts(r); err != nil {
		return nil, err
	}
	if err := checkNewSecret(r); err != nil {
		return nil, err
	}
	checks, err := a.checksFromProto(r)
	if err != nil {
		return nil, err
	}
	if err = call.CheckOptions(r.GetOptions(), call.OptionUse{Guards: true, Key: true}); err != nil {
		return nil, err
	}
	ttl, err := call.GrantedTTL(r.GetTtl(), a.ttlMin)
	if err != nil {
		return nil, err
	}
	lockDelay, err := call.GrantedLockDelay(r.GetLockDelay())
	if err != nil {
		return nil, err
	}
	behavior, err := call.BehaviorFromProto(r.GetBehavior())
	if err != nil {
		return nil, err
	}
	metadata, err := metadataFromProto(r.GetMetadata())
	if err != nil {
		return nil, err
	}
	return &storev1.CreateSession{
		Name:        r.GetName(),
		Node:        r.GetNode(),
		Metadata:    metadata,
		TtlMs:       ttl.Milliseconds(),
		LockDelayMs: lockDelay.Milliseconds(),
		Behavior:    behavior,
		InstanceId:  r.GetInstanceId(),
		Checks:      checks,
	}, nil
}

// checkTexts refuses names that are too long.
func checkTexts(r *tenurev1.CreateSessionRequest) error {
	if err := call.CheckText("name", r.GetName(), call.NameBytesMax); err != nil {
		return err
	}
	if err := call.CheckText("node", r.GetNode(), call.NameBytesMax); err != nil {
		return err
	}
	return call.CheckText("instance_id", string(r.GetInstanceId()), call.InstanceIDBytesMax)
}

// checkNewSecret refuses secrets that do not fit together.
func checkNewSecret(r *tenurev1.CreateSessionRequest) error {
	if n := len(r.GetSecret()); n != 0 && n != gate.SecretBytes {
		return reason.Invalid("secret", "must be exactly %d bytes", gate.SecretBytes)
	}
	if !r.GetWantSecret() {
		return nil
	}
	if len(r.GetSecret()) > 0 {
		return reason.Invalid("want_secret", "must not be given together with secret")
	}
	if len(r.GetOptions().GetIdempotencyKey()) > 0 {
		return reason.Invalid("want_secret", "must not be given together with an idempotency key: a retry could not return the secret")
	}
	return nil
}

// metadataFromProto returns metadata sorted by name.
func metadataFromProto(metadata map[string]string) ([]*storev1.MetadataEntry, error) {
	size := 0
	entries := make([]*storev1.MetadataEntry, 0, len(metadata))
	for name, value := range metadata {
		if name == "" {
			return nil, reason.Invalid("metadata", "has an entry without a name")
		}
		size += len(name) + len(value)
		entries = append(entries, &storev1.MetadataEntry{Name: name, Value: value})
	}
	if size > call.MetadataBytesMax {
		return nil, reason.Invalid("metadata", "is %d bytes long; at most %d are allowed", size, call.MetadataBytesMax).
			With("limit", "metadata_bytes_max").With("limit_value", strconv.Itoa(call.MetadataBytesMax))
	}
	slices.SortFunc(entries, func(x, y *storev1.MetadataEntry) int { return strings.Compare(x.GetName(), y.GetName()) })
	return entries, nil
}

// DestroySession serves SessionService.
func (a *Sessions) DestroySession(
	ctx context.Context, r *tenurev1.DestroySessionRequest,
) (*tenurev1.DestroySessionResponse, error) {
	id, err := call.ParseSession("session_id", r.GetSessionId())
	if err != nil {
		return nil, err
	}
	use := call.OptionUse{Session: true, Force: true, Reason: true, Guards: true, Request: true}
	if err = call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	op, err := call.ParseOperator(r.GetForce(), r.GetReason(), r.GetOptions())
	if err != nil {
		return nil, err
	}
	ref, err := a.SessionRef(ctx, "session_id", r.GetSessionId(), r.GetOptions(), op)
	if err != nil {
		return a.destroyedBefore(err)
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: ref,
			Clean:   r.GetClean(),
			Force:   op.Force,
			Reason:  op.Reason,
			By:      gate.Address(ctx),
		}}},
	})
	if err != nil {
		return a.destroyedBefore(err)
	}
	if op.Force {
		a.Log.Info("session destroyed by force", zap.Stringer("session_id", id), zap.String("reason", op.Reason),
			zap.String("by", gate.Address(ctx)))
	}
	ended := result.GetEndSessions()
	return &tenurev1.DestroySessionResponse{
		Header:    a.HeaderOf(result),
		Destroyed: len(ended.GetEndedSessionIds()) > 0,
		Holds:     ended.GetHolds(),
	}, nil
}

// destroyedBefore turns the refusal to end a session that has ended into an answer.
func (a *Sessions) destroyedBefore(err error) (*tenurev1.DestroySessionResponse, error) {
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED {
		return nil, err
	}
	return &tenurev1.DestroySessionResponse{Header: a.Header(a.Node.Store().Applied())}, nil
}

// GetSession serves SessionService.
func (a *Sessions) GetSession(ctx context.Context, r *tenurev1.GetSessionRequest) (*tenurev1.GetSessionResponse, error) {
	id, err := call.ParseSession("session_id", r.GetSessionId())
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	session, live, err := a.SessionAt(s, id)
	if err != nil {
		return nil, err
	}
	response := &tenurev1.GetSessionResponse{Header: a.Header(s.At), Session: session}
	if live {
		objects, err := a.objectsAt(s, objectsQuery{
			list: "session", session: id, name: session.GetName(), token: r.GetPageToken(), itemsMax: call.PageItemsMax,
		})
		if err != nil {
			return nil, err
		}
		response.Holds, response.Places, response.NextPageToken = objects.holds, objects.places, objects.next
	}
	if !r.GetRead().GetStale() {
		a.SessionTimes(ctx, session)
	}
	return response, nil
}

// ListSessions serves SessionService.
func (a *Sessions) ListSessions(
	ctx context.Context, r *tenurev1.ListSessionsRequest,
) (*tenurev1.ListSessionsResponse, error) {
	size, err := call.PageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	olderThan, err := call.CheckDuration("older_than", r.GetOlderThan())
	if err != nil {
		return nil, err
	}
	if err = checkPrincipals(r.GetPrincipals()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	if len(r.GetPrincipals()) > 0 && !storage.KnowsPrincipals(s.At.ClusterVersion) {
		// Older members would list all sessions.
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
			"sessions are listed by principal once every member supports it and the cluster version was raised")
	}
	filters := []string{r.GetNamePrefix(), nodes.NodeKey(r.GetNode()), fmt.Sprint(r.GetNoTtl()), olderThan.String()}
	pages, after, err := s.Pages(call.PageQuery{List: "sessions", Filters: append(filters, r.GetPrincipals()...)}, r)
	if err != nil {
		return nil, err
	}
	var from storage.SessionID
	if after != "" {
		if from, err = storage.ParseSessionID(after); err != nil {
			return nil, call.PageTokenInvalid()
		}
	}
	response := &tenurev1.ListSessionsResponse{Header: a.Header(s.At)}
	last, more, err := a.sessionsAt(s, r, from, size, response)
	if err != nil {
		return nil, err
	}
	if more {
		if response.NextPageToken, err = pages.Token(last.String()); err != nil {
			return nil, err
		}
	}
	if !r.GetRead().GetStale() {
		shown := &call.ShownTimes{}
		for _, session := range response.GetSessions() {
			shown.AddSession(session)
		}
		a.AskTimes(ctx, shown)
	}
	return response, nil
}

// checkPrincipals refuses a filter that is too long, or that would mean sessions of nobody.
func checkPrincipals(principals []string) error {
	if len(principals) > principalsMax {
		return reason.Invalid("principals", "has %d; at most %d are allowed", len(principals), principalsMax)
	}
	for i, principal := range principals {
		field := fmt.Sprintf("principals[%d]", i)
		if principal == "" {
			return reason.Invalid(field, "is empty")
		}
		if err := call.CheckText(field, principal, principalBytesMax); err != nil {
			return err
		}
	}
	return nil
}

// sessionsAt fills a page of sessions that pass the filters. It looks at a bounded number, so a page may hold few, or
// none, and still be followed by another. It returns the last session that it looked at.
func (a *Sessions) sessionsAt(
	s *call.Snapshot, r *tenurev1.ListSessionsRequest, from storage.SessionID, size int, page *tenurev1.ListSessionsResponse,
) (last storage.SessionID, more bool, err error) {
	last = from
	created := time.Now().Add(-r.GetOlderThan().AsDuration()).UnixMilli()
	openers := map[string]bool{}
	for _, principal := range r.GetPrincipals() {
		openers[principal] = true
	}
	bytes := 0
	for scanned := 0; scanned < call.ScannedItemsMax; {
		var entries []storage.SessionEntry
		if entries, more, err = s.Sessions(last, call.ItemsAtOnce); err != nil {
			return last, false, err
		}
		for _, e := range entries {
			full := len(page.GetSessions()) >= size || bytes >= call.PageBytesMax
			if full && seesSession(s, e.Record) { // A page that ended elsewhere would tell that there is another one.
				return last, true, nil
			}
			last = e.ID
			if len(openers) > 0 && !openers[e.Record.GetPrincipal()] || !sessionPasses(e.Record, r, created) || !seesSession(s, e.Record) {
				continue
			}
			if e.Record.Objects, err = s.Objects(e.ID); err != nil {
				return last, false, err
			}
			session, _, err := a.ShownSession(s, e.ID, e.Record)
			if err != nil {
				return last, false, err
			}
			bytes += proto.Size(session)
			page.Sessions = append(page.Sessions, session)
		}
		if !more {
			return last, false, nil
		}
		scanned += len(entries)
	}
	return last, true, nil
}

// seesSession reports whether the caller that reads a snapshot sees a session.
func seesSession(at *call.Snapshot, s *storev1.SessionRecord) bool {
	return at.Sight == nil || authz.SeesSession(at.Sight, authz.SessionFacts{Name: s.GetName(), Node: s.GetNode(), Maker: s.GetPrincipal()})
}

// sessionPasses tells whether a session passes all filters but that of its opener.
func sessionPasses(s *storev1.SessionRecord, r *tenurev1.ListSessionsRequest, createdBeforeMs int64) bool {
	switch {
	case !strings.HasPrefix(s.GetName(), r.GetNamePrefix()):
		return false
	case r.GetNode() != "" && nodes.NodeKey(s.GetNode()) != nodes.NodeKey(r.GetNode()):
		return false
	case r.GetNoTtl() && s.GetTtlMs() != 0:
		return false
	case r.GetOlderThan() != nil && s.GetCreateTimeMs() > createdBeforeMs:
		return false
	default:
		return true
	}
}
