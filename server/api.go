package server

import (
	"context"
	"crypto/sha256"
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
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// api is the receiver of all services. A method validates, asks the session's secret where it acts as one, proposes a
// command or reads a snapshot, and converts the outcome. Its errors are apiErrors, or those of other rooms; the
// interceptors make statuses of them.
type api struct {
	tenurev1.UnimplementedClusterServiceServer
	tenurev1.UnimplementedElectionServiceServer
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedWatchServiceServer

	node     leader.Node
	hub      *watch.Hub
	timers   *expiry.Timers
	log      *zap.Logger
	arrivals *leader.Arrivals
	hints    *hinter
	relay    *leader.Relay
	renewals *relayedRenewals
	currency *currency
	proofs   proofs
	stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// streamSessionsMax is how many sessions one KeepAlive stream renews.
	streamSessionsMax int
	self              member
	// sessionShare divides sessions between callers.
	sessionShare *sessionShare
	memberID     uint64
	ttlMin       time.Duration
	ids          atomic.Pointer[idTexts]
	started      time.Time
	// unreadMax bounds how long a message may stay unread while a snapshot is held; 0 is the default.
	unreadMax time.Duration
}

// member is what the server tells about itself.
type member struct {
	name, version, zone            string
	clientAddr, httpAddr, peerAddr string
}

// idTexts are the ids in every header, as text.
type idTexts struct {
	cluster, history         [16]byte
	clusterText, historyText string
}

// texts returns the ids of the state as text. They hardly ever change.
func (a *api) texts(at storage.Applied) *idTexts {
	if t := a.ids.Load(); t != nil && t.cluster == at.ClusterID && t.history == at.HistoryID {
		return t
	}
	t := &idTexts{
		cluster: at.ClusterID, clusterText: call.HexID(at.ClusterID),
		history: at.HistoryID, historyText: call.HexID(at.HistoryID),
	}
	a.ids.Store(t)
	return t
}

// header returns the header of an answer that shows a revision.
func (a *api) header(at storage.Applied) *tenurev1.ResponseHeader {
	ids := a.texts(at)
	return &tenurev1.ResponseHeader{
		ClusterId: ids.clusterText,
		HistoryId: ids.historyText,
		MemberId:  a.memberID,
		Revision:  at.Revision,
		Term:      at.Term,
	}
}

// headerOf returns the header of the answer to a change.
func (a *api) headerOf(r *storev1.Result) *tenurev1.ResponseHeader {
	h := a.header(a.node.Store().Applied())
	h.Revision = r.GetRevision()
	return h
}

// history returns the history that the member is in.
func (a *api) history() [16]byte { return a.node.Store().Applied().HistoryID }

// snapshot is what one read sees. It must be closed.
type snapshot struct {
	*storage.Reader
	at storage.Applied
}

// reader returns a snapshot that is as fresh as o asks.
func (a *api) reader(ctx context.Context, o *tenurev1.ReadOptions) (*snapshot, error) {
	if o.GetHistoryId() != "" {
		if err := call.CheckHistory("read.history_id", o.GetHistoryId(), a.history()); err != nil {
			return nil, err
		}
	}
	if o.GetStale() {
		if err := a.awaitRevision(ctx, o.GetMinRevision()); err != nil {
			return nil, err
		}
	} else if err := a.node.ReadIndex(ctx); err != nil {
		return nil, err
	}
	s, err := a.localSnapshot()
	if err != nil {
		return nil, err
	}
	if at := s.at.Revision; o.GetMinRevision() > at {
		a.closeSnapshot(s)
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
			"read.min_revision %d is ahead of the cluster, which is at %d", o.GetMinRevision(), at).
			With("revision", fmt.Sprint(at))
	}
	return s, nil
}

// localSnapshot returns what this member has, however old.
func (a *api) localSnapshot() (*snapshot, error) {
	growStack(0)
	r := a.node.Store().NewReader()
	at, err := r.Applied()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &snapshot{Reader: r, at: at}, nil
}

// closeSnapshot ends a read. That a snapshot does not close changes nothing for the caller, but it pins disk space.
func (a *api) closeSnapshot(s *snapshot) {
	if err := s.Close(); err != nil {
		a.log.Warn("snapshot does not close", zap.Error(err))
	}
}

// awaitRevision waits until this member shows a revision, at most to the deadline.
func (a *api) awaitRevision(ctx context.Context, revision uint64) error {
	if a.node.Store().Applied().Revision >= revision {
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, call.StaleWaitWithoutTimeout)
		defer cancel()
	}
	for {
		changed := a.arrivals.Next()
		if a.node.Store().Applied().Revision >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-a.stopping.Done():
			return reason.ErrStopping
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", revision, ctx.Err())
		}
	}
}

// change is a command to propose for a request.
type change struct {
	request proto.Message
	options *tenurev1.CallOptions
	command *storev1.Command
}

// propose orders a change and returns its result; a broken rule comes back as an error. The caller has checked that it
// may act as the sessions that the command names.
func (a *api) propose(ctx context.Context, c change) (*storev1.Result, error) {
	if err := a.addOptions(ctx, c); err != nil {
		return nil, err
	}
	c.command.WallTimeMs = time.Now().UnixMilli()
	result, err := a.relay.Order(ctx, c.command, hashed(c.options.GetSessionSecret()))
	if err != nil {
		return nil, err
	}
	if f := result.GetFailure(); f != nil {
		remembered := c.command.GetRequestId() != nil || len(c.command.GetIdempotencyKey()) > 0
		return nil, reason.OfFailure(f, remembered)
	}
	return result, nil
}

// addOptions adds guards and the request's identity to the command.
func (a *api) addOptions(ctx context.Context, c change) error {
	o := c.options
	if len(o.GetGuards()) > 0 {
		guards, err := a.guardsFromProto(o.GetGuards())
		if err != nil {
			return err
		}
		c.command.Guards = guards
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
		if err := a.actAs(ctx, sid, o); err != nil {
			return err
		}
		c.command.RequestId = &storev1.RequestID{
			SessionId: sid[:],
			Epoch:     o.GetEpoch(),
			Sequence:  id.GetSequence(),
			DoneBelow: max(id.GetDoneBelow(), 1),
		}
	}
	c.command.IdempotencyKey = o.GetIdempotencyKey()
	digest, err := requestDigest(c.request)
	c.command.RequestDigest = digest
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

// guardsFromProto converts guards.
func (a *api) guardsFromProto(guards []*tenurev1.Guard) ([]*storev1.Guard, error) {
	converted := make([]*storev1.Guard, 0, len(guards))
	for i, g := range guards {
		field := fmt.Sprintf("options.guards[%d]", i)
		guard, err := a.guardFromProto(field, g)
		if err != nil {
			return nil, err
		}
		converted = append(converted, guard)
	}
	return converted, nil
}

// guardFromProto converts one guard.
func (a *api) guardFromProto(field string, g *tenurev1.Guard) (*storev1.Guard, error) {
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
		if err := call.CheckHistory(field+".held.history_id", held.GetHistoryId(), a.history()); err != nil {
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
func (a *api) actAs(ctx context.Context, id storage.SessionID, o *tenurev1.CallOptions) error {
	record, err := a.liveSession(ctx, id)
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
func (a *api) liveSession(ctx context.Context, id storage.SessionID) (*storev1.SessionRecord, error) {
	s, err := a.localSnapshot()
	if err != nil {
		return nil, err
	}
	record, live, err := s.Session(id)
	a.closeSnapshot(s)
	if err != nil || live {
		return record, err
	}
	if s, err = a.reader(ctx, nil); err != nil {
		return nil, err
	}
	defer a.closeSnapshot(s)
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
