package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// caller is what all services share: how a call reads, how it changes something, and on whose behalf. Any goroutine may call
// any method.
type caller struct {
	// node is this member.
	node leader.Node
	// timers are the leader's; on another member they know nothing.
	timers *expiry.Timers
	// log gets what clients must not see.
	log *zap.Logger
	// arrivals tells when this member has applied something.
	arrivals *leader.Arrivals
	// relay leads to the leader.
	relay *leader.Relay
	// stopping ends when the server stops.
	stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// memberID is this member's id.
	memberID uint64
	// unreadMax bounds how long a message may stay unread while a snapshot is held; 0 is the default.
	unreadMax time.Duration

	ids atomic.Pointer[idTexts]
}

// idTexts are the ids in every header, as text.
type idTexts struct {
	cluster, history         [16]byte
	clusterText, historyText string
}

// texts returns the ids of the state as text. They hardly ever change.
func (c *caller) texts(at storage.Applied) *idTexts {
	if t := c.ids.Load(); t != nil && t.cluster == at.ClusterID && t.history == at.HistoryID {
		return t
	}
	t := &idTexts{
		cluster: at.ClusterID, clusterText: call.HexID(at.ClusterID),
		history: at.HistoryID, historyText: call.HexID(at.HistoryID),
	}
	c.ids.Store(t)
	return t
}

// header returns the header of an answer that shows a revision.
func (c *caller) header(at storage.Applied) *tenurev1.ResponseHeader {
	ids := c.texts(at)
	return &tenurev1.ResponseHeader{
		ClusterId: ids.clusterText,
		HistoryId: ids.historyText,
		MemberId:  c.memberID,
		Revision:  at.Revision,
		Term:      at.Term,
	}
}

// headerOf returns the header of the answer to a change.
func (c *caller) headerOf(r *storev1.Result) *tenurev1.ResponseHeader {
	h := c.header(c.node.Store().Applied())
	h.Revision = r.GetRevision()
	return h
}

// history returns the history that the member is in.
func (c *caller) history() [16]byte { return c.node.Store().Applied().HistoryID }

// snapshot is what one read sees. It must be closed.
type snapshot struct {
	*storage.Reader
	at storage.Applied
}

// reader returns a snapshot that is as fresh as o asks.
func (c *caller) reader(ctx context.Context, o *tenurev1.ReadOptions) (*snapshot, error) {
	if o.GetHistoryId() != "" {
		if err := call.CheckHistory("read.history_id", o.GetHistoryId(), c.history()); err != nil {
			return nil, err
		}
	}
	if o.GetStale() {
		if err := c.awaitRevision(ctx, o.GetMinRevision()); err != nil {
			return nil, err
		}
	} else if err := c.node.ReadIndex(ctx); err != nil {
		return nil, err
	}
	s, err := c.localSnapshot()
	if err != nil {
		return nil, err
	}
	if at := s.at.Revision; o.GetMinRevision() > at {
		c.closeSnapshot(s)
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
			"read.min_revision %d is ahead of the cluster, which is at %d", o.GetMinRevision(), at).
			With("revision", fmt.Sprint(at))
	}
	return s, nil
}

// localSnapshot returns what this member has, however old.
func (c *caller) localSnapshot() (*snapshot, error) {
	growStack(0)
	r := c.node.Store().NewReader()
	at, err := r.Applied()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &snapshot{Reader: r, at: at}, nil
}

// closeSnapshot ends a read. That a snapshot does not close changes nothing for the caller, but it pins disk space.
func (c *caller) closeSnapshot(s *snapshot) {
	if err := s.Close(); err != nil {
		c.log.Warn("snapshot does not close", zap.Error(err))
	}
}

// awaitRevision waits until this member shows a revision, at most to the deadline.
func (c *caller) awaitRevision(ctx context.Context, revision uint64) error {
	if c.node.Store().Applied().Revision >= revision {
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, call.StaleWaitWithoutTimeout)
		defer cancel()
	}
	for {
		changed := c.arrivals.Next()
		if c.node.Store().Applied().Revision >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-c.stopping.Done():
			return reason.ErrStopping
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", revision, ctx.Err())
		}
	}
}

// untilStop returns a context that ends with a call or with the server.
func (c *caller) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.stopping, func() { cancel(reason.ErrStopping) })
	return ctx, func() { stop(); cancel(nil) }
}

// patienceWithClients returns how long a message may stay unread while a snapshot is held.
func (c *caller) patienceWithClients() time.Duration {
	if c.unreadMax == 0 {
		return unreadMax
	}
	return c.unreadMax
}

// change is a command to propose for a request.
type change struct {
	request proto.Message
	options *tenurev1.CallOptions
	command *storev1.Command
}

// propose orders a change and returns its result; a broken rule comes back as an error. The caller has checked that it
// may act as the sessions that the command names.
func (c *caller) propose(ctx context.Context, change change) (*storev1.Result, error) {
	if err := c.addOptions(ctx, change); err != nil {
		return nil, err
	}
	change.command.WallTimeMs = time.Now().UnixMilli()
	result, err := c.relay.Order(ctx, change.command, hashed(change.options.GetSessionSecret()))
	if err != nil {
		return nil, err
	}
	if f := result.GetFailure(); f != nil {
		remembered := change.command.GetRequestId() != nil || len(change.command.GetIdempotencyKey()) > 0
		return nil, reason.OfFailure(f, remembered)
	}
	return result, nil
}

// addOptions adds guards and the request's identity to the command.
func (c *caller) addOptions(ctx context.Context, change change) error {
	o := change.options
	if len(o.GetGuards()) > 0 {
		guards, err := c.guardsFromProto(o.GetGuards())
		if err != nil {
			return err
		}
		change.command.Guards = guards
	}
	if o.GetRequestId() == nil && len(o.GetIdempotencyKey()) == 0 {
		return nil
	}
	if id := o.GetRequestId(); id != nil {
		sid, err := call.ParseSession("options.request_id.session_id", id.GetSessionId())
		if err != nil {
			return err
		}
		if id.GetSequence() == 0 {
			return reason.Invalid("options.request_id.sequence", "must not be zero")
		}
		if id.GetDoneBelow() > id.GetSequence() {
			return reason.Invalid("options.request_id.done_below", "must not be above sequence")
		}
		if o.GetEpoch() == 0 {
			return reason.Invalid("options.epoch", "is required with request_id; it is 1 unless the session was taken over")
		}
		if err := c.actAs(ctx, sid, o); err != nil {
			return err
		}
		change.command.RequestId = &storev1.RequestID{
			SessionId: sid[:],
			Epoch:     o.GetEpoch(),
			Sequence:  id.GetSequence(),
			DoneBelow: max(id.GetDoneBelow(), 1),
		}
	}
	change.command.IdempotencyKey = o.GetIdempotencyKey()
	digest, err := requestDigest(change.request)
	change.command.RequestDigest = digest
	return err
}

// requestDigest returns a hash of what the client asked: a retry has the same, another request another. Secrets enter
// as hashes; what may differ between attempts does not enter.
func requestDigest(request proto.Message) ([]byte, error) {
	asked := proto.Clone(request)
	if o, ok := asked.(interface{ GetOptions() *tenurev1.CallOptions }); ok && o.GetOptions() != nil {
		o.GetOptions().RequestId = nil
		o.GetOptions().IdempotencyKey = nil
		o.GetOptions().Epoch = 0
		o.GetOptions().SessionSecret = hashed(o.GetOptions().GetSessionSecret())
	}
	if create, ok := asked.(*tenurev1.CreateSessionRequest); ok {
		create.Secret = hashed(create.GetSecret())
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	sum := sha256.New()
	_, _ = sum.Write([]byte(asked.ProtoReflect().Descriptor().FullName()))
	_, _ = sum.Write([]byte{0})
	_, _ = sum.Write(data)
	return sum.Sum(nil), nil
}

// hashed returns the SHA-256 of a secret; nothing for none.
func hashed(secret []byte) []byte {
	if len(secret) == 0 {
		return nil
	}
	sum := sha256.Sum256(secret)
	return sum[:]
}

// showsSecret tells whether a hash is that of a session's secret.
func showsSecret(shown, hash []byte) bool { return subtle.ConstantTimeCompare(shown, hash) == 1 }

// guardsFromProto converts guards.
func (c *caller) guardsFromProto(guards []*tenurev1.Guard) ([]*storev1.Guard, error) {
	converted := make([]*storev1.Guard, 0, len(guards))
	for i, g := range guards {
		field := fmt.Sprintf("options.guards[%d]", i)
		guard, err := c.guardFromProto(field, g)
		if err != nil {
			return nil, err
		}
		converted = append(converted, guard)
	}
	return converted, nil
}

// guardFromProto converts one guard.
func (c *caller) guardFromProto(field string, g *tenurev1.Guard) (*storev1.Guard, error) {
	switch condition := g.GetCondition().(type) {
	case *tenurev1.Guard_Held:
		held := condition.Held
		if err := call.CheckKey(field+".held.key", held.GetKey()); err != nil {
			return nil, err
		}
		sid, err := call.ParseSession(field+".held.session_id", held.GetSessionId())
		if err != nil {
			return nil, err
		}
		if err := call.CheckHistory(field+".held.history_id", held.GetHistoryId(), c.history()); err != nil {
			return nil, err
		}
		return &storev1.Guard{Condition: &storev1.Guard_Held{Held: &storev1.HeldGuard{
			Key:          held.GetKey(),
			LockIndex:    held.GetLockIndex(),
			SessionId:    sid[:],
			FencingToken: held.GetFencingToken(),
		}}}, nil
	case *tenurev1.Guard_SessionAlive:
		sid, err := call.ParseSession(field+".session_alive", condition.SessionAlive)
		if err != nil {
			return nil, err
		}
		return &storev1.Guard{Condition: &storev1.Guard_SessionAlive{SessionAlive: sid[:]}}, nil
	case *tenurev1.Guard_Key:
		k := condition.Key
		if err := call.CheckKey(field+".key.key", k.GetKey()); err != nil {
			return nil, err
		}
		return &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{
			Key:            k.GetKey(),
			Exists:         k.Exists,
			ModRevision:    k.ModRevision,
			CreateRevision: k.CreateRevision,
			Version:        k.Version,
		}}}, nil
	default:
		return nil, reason.Invalid(field, "has no condition")
	}
}

// actAs checks that the caller may act as a session: it needs the secret if the session has one. Which epoch the session
// is in is for the state machine to compare.
func (c *caller) actAs(ctx context.Context, id storage.SessionID, o *tenurev1.CallOptions) error {
	record, err := c.liveSession(ctx, id)
	if err != nil {
		known := o.GetRequestId() != nil || len(o.GetIdempotencyKey()) > 0
		if e := reason.Of(err); e != nil && known && (e.Reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED ||
			e.Reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND) {
			// Perhaps a late retry: the state machine remembers what became of the first attempt, or that nobody can tell
			// any more, and does nothing new. Of a session that ended long ago not even the end is known.
			return nil
		}
		return err
	}
	hash := record.GetSecretSha256()
	if len(hash) == 0 {
		return nil
	}
	if !call.CheckSecret(o.GetSessionSecret(), hash) {
		return secretWrong(id, len(o.GetSessionSecret()) > 0)
	}
	if o.GetEpoch() == 0 {
		return reason.Invalid("options.epoch", "is required for a session with a secret; it is 1 unless the session was taken over")
	}
	return nil
}

// secretWrong returns the error for a caller that gave another secret than a session has, or none.
func secretWrong(id storage.SessionID, given bool) *reason.Error {
	text := "the session has a secret, and none was given"
	if given {
		text = "the session has a secret, and the given one is wrong"
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG, "%s", text).With("session_id", id.String())
}

// liveSession returns a session's record. Its secret never changes, so what this member has is enough; only when it has
// nothing does it ask whether there is something newer.
func (c *caller) liveSession(ctx context.Context, id storage.SessionID) (*storev1.SessionRecord, error) {
	s, err := c.localSnapshot()
	if err != nil {
		return nil, err
	}
	record, live, err := s.Session(id)
	c.closeSnapshot(s)
	if err != nil || live {
		return record, err
	}
	if s, err = c.reader(ctx, nil); err != nil {
		return nil, err
	}
	defer c.closeSnapshot(s)
	return liveAt(s, id)
}

// liveAt returns the record of a session that lives, or why it does not.
func liveAt(s *snapshot, id storage.SessionID) (*storev1.SessionRecord, error) {
	record, live, err := s.Session(id)
	if err != nil || live {
		return record, err
	}
	return nil, noSession(s, id)
}

// noSession returns why a session does not live.
func noSession(s *snapshot, id storage.SessionID) error {
	ended, known, err := s.EndedSession(id)
	if err != nil {
		return err
	}
	if !known {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, "there is no session %s", id).
			With("session_id", id.String())
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, "session %s ended at %s: %s", id,
		time.UnixMilli(ended.GetEndTimeMs()).UTC().Format(time.RFC3339), call.EndCauseText(ended.GetCause())).
		With("session_id", id.String())
}
