package call

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Caller is what all services share: how a call reads, how it changes something, and on whose behalf. Any goroutine may call
// any method.
type Caller struct {
	// Node is this member.
	Node leader.Node
	// Timers are the leader's; on another member they know nothing.
	Timers *expiry.Timers
	// Log gets what clients must not see.
	Log *zap.Logger
	// Arrivals tells when this member has applied something.
	Arrivals *leader.Arrivals
	// Relay leads to the leader.
	Relay *leader.Relay
	// Stopping ends when the server stops.
	Stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// MemberID is this member's id.
	MemberID uint64
	// Secrets remembers the secrets of sessions; nil: each call reads them.
	Secrets *Secrets
	// UnreadMax bounds how long a message may stay unread while a snapshot is held; 0 is the default.
	UnreadMax time.Duration

	ids     atomic.Pointer[idTexts]
	digests digester
}

// idTexts are the ids in every header, as text.
type idTexts struct {
	cluster, history         [16]byte
	clusterText, historyText string
}

// texts returns the ids of the state as text. They hardly ever change.
func (c *Caller) texts(at storage.Applied) *idTexts {
	if t := c.ids.Load(); t != nil && t.cluster == at.ClusterID && t.history == at.HistoryID {
		return t
	}
	t := &idTexts{
		cluster: at.ClusterID, clusterText: HexID(at.ClusterID),
		history: at.HistoryID, historyText: HexID(at.HistoryID),
	}
	c.ids.Store(t)
	return t
}

// Header returns the header of an answer that shows a revision.
func (c *Caller) Header(at storage.Applied) *tenurev1.ResponseHeader {
	ids := c.texts(at)
	return &tenurev1.ResponseHeader{
		ClusterId: ids.clusterText,
		HistoryId: ids.historyText,
		MemberId:  c.MemberID,
		Revision:  at.Revision,
		Term:      at.Term,
	}
}

// HeaderOf returns the header of the answer to a change.
func (c *Caller) HeaderOf(r *storev1.Result) *tenurev1.ResponseHeader {
	h := c.Header(c.Node.Store().Applied())
	h.Revision = r.GetRevision()
	return h
}

// History returns the history that the member is in.
func (c *Caller) History() [16]byte { return c.Node.Store().Applied().HistoryID }

// Snapshot is what one read sees. It must be closed.
type Snapshot struct {
	*storage.Reader
	At storage.Applied
	// Sight is what of it the caller sees by its rights there; nil: all that the call asks for.
	Sight *access.Sight
}

// Reader returns a snapshot that is as fresh as o asks.
func (c *Caller) Reader(ctx context.Context, o *tenurev1.ReadOptions) (*Snapshot, error) {
	if o.GetHistoryId() != "" {
		if err := CheckHistory("read.history_id", o.GetHistoryId(), c.History()); err != nil {
			return nil, err
		}
	}
	if o.GetStale() {
		if err := c.awaitRevision(ctx, o.GetMinRevision()); err != nil {
			return nil, err
		}
	} else if err := c.Node.ReadIndex(ctx); err != nil {
		return nil, err
	}
	s, err := c.LocalReader(ctx)
	if err != nil {
		return nil, err
	}
	if at := s.At.Revision; o.GetMinRevision() > at {
		c.CloseSnapshot(s)
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
			"read.min_revision %d is ahead of the cluster, which is at %d", o.GetMinRevision(), at).
			With("revision", fmt.Sprint(at))
	}
	return s, nil
}

// LocalReader returns what this member has, however old, if the call may see it.
func (c *Caller) LocalReader(ctx context.Context) (*Snapshot, error) {
	s, err := c.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	grant := access.Of(ctx)
	if err = grant.At(s.Reader, s.At); err != nil {
		c.CloseSnapshot(s)
		return nil, err
	}
	s.Sight = grant.Sight()
	return s, nil
}

// Fix decides by the snapshot what a stream shows to its caller from now on: see access.See.
func (s *Snapshot) Fix(ctx context.Context, keysOnly bool) (err error) {
	s.Sight, err = access.See(ctx, s.Reader, s.At, keysOnly)
	return err
}

// LocalSnapshot returns what this member has, however old. What it shows to a call has to be decided by others.
func (c *Caller) LocalSnapshot() (*Snapshot, error) {
	growStack(0)
	r := c.Node.Store().NewReader()
	at, err := r.Applied()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Snapshot{Reader: r, At: at}, nil
}

// CloseSnapshot ends a read. That a snapshot does not close changes nothing for the caller, but it pins disk space.
func (c *Caller) CloseSnapshot(s *Snapshot) {
	if err := s.Close(); err != nil {
		c.Log.Warn("snapshot does not close", zap.Error(err))
	}
}

// awaitRevision waits until this member shows a revision, at most to the deadline. One that was cut off meanwhile may have the revision before it
// has the rights that were taken away, so after a wait it must be proved again that what it shows is not too old.
func (c *Caller) awaitRevision(ctx context.Context, revision uint64) error {
	if c.Node.Store().Applied().Revision >= revision {
		return nil
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, StaleWaitWithoutTimeout)
		defer cancel()
	}
	for {
		changed := c.Arrivals.Next()
		if c.Node.Store().Applied().Revision >= revision {
			return access.Of(ctx).Current(ctx)
		}
		select {
		case <-changed:
		case <-c.Stopping.Done():
			return reason.ErrStopping
		case <-ctx.Done():
			return fmt.Errorf("wait for revision %d: %w", revision, ctx.Err())
		}
	}
}

// UntilStop returns a context that ends with a call or with the server.
func (c *Caller) UntilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.Stopping, func() { cancel(reason.ErrStopping) })
	return ctx, func() { stop(); cancel(nil) }
}

// PatienceWithClients returns how long a message may stay unread while a snapshot is held.
func (c *Caller) PatienceWithClients() time.Duration {
	if c.UnreadMax == 0 {
		return unreadMax
	}
	return c.UnreadMax
}

// Change is a command to propose for a request.
type Change struct {
	Request proto.Message
	Options *tenurev1.CallOptions
	Command *storev1.Command

	// shown is the hash of the session secret that the options show; nil if they show none. AddOptions makes it.
	shown []byte
}

// Propose orders a change and returns its result; a broken rule comes back as an error. The caller has checked that it
// may act as the sessions that the command names.
func (c *Caller) Propose(ctx context.Context, change Change) (*storev1.Result, error) {
	if err := c.AddOptions(ctx, &change); err != nil {
		return nil, err
	}
	return c.order(ctx, ctx, nil, change)
}

// order is Propose for a change whose options were added. It is ordered under the rights that its caller has now, who may go, at the end of asking,
// while an attempt goes on.
func (c *Caller) order(asking, ctx context.Context, asked *leader.Asked, change Change) (*storev1.Result, error) {
	result, err := access.Ordered(asking, c.Node.Store, func(principal string, below uint64) (*storev1.Result, error) {
		if storage.KnowsPrincipals(c.Node.Store().Applied().ClusterVersion) { // Older programs stop at fields that they do not know.
			change.Command.AuthorisedBelow, change.Command.Findings = below, access.Findings(ctx)
			if storage.KeepsPrincipal(change.Command) {
				change.Command.Principal = principal
			}
		}
		change.Command.WallTimeMs = time.Now().UnixMilli()
		result, err := c.Relay.OrderFor(ctx, asked, change.Command, change.shown)
		return result, reason.WithSize(err, change.Command)
	})
	if err != nil {
		return nil, err
	}
	if f := result.GetFailure(); f != nil {
		c.Secrets.refused(f)
		remembered := change.Command.GetRequestId() != nil || len(change.Command.GetIdempotencyKey()) > 0
		return nil, reason.OfFailure(f, remembered)
	}
	return result, nil
}

// AddOptions adds guards and the request's identity to the command.
func (c *Caller) AddOptions(ctx context.Context, change *Change) error {
	o := change.Options
	change.shown = Hashed(o.GetSessionSecret())
	if len(o.GetGuards()) > 0 {
		guards, err := c.guards().all(o.GetGuards())
		if err != nil {
			return err
		}
		change.Command.Guards = guards
	}
	if o.GetRequestId() == nil && len(o.GetIdempotencyKey()) == 0 {
		return nil
	}
	if id := o.GetRequestId(); id != nil {
		sid, err := ParseSession("options.request_id.session_id", id.GetSessionId())
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
		if !c.Secrets.shown(sid, change.shown, o) {
			if err := c.ActAs(ctx, sid, change.shown, o); err != nil {
				return err
			}
		}
		change.Command.RequestId = &storev1.RequestID{
			SessionId: sid[:],
			Epoch:     o.GetEpoch(),
			Sequence:  id.GetSequence(),
			DoneBelow: max(id.GetDoneBelow(), 1),
		}
	}
	change.Command.IdempotencyKey = o.GetIdempotencyKey()
	digest, err := c.digests.of(change)
	change.Command.RequestDigest = digest
	return err
}

// digestRoomMax is how large a buffer may be that is kept for the next digest.
const digestRoomMax = 16 << 10

// digester makes digests of requests. Any goroutine may call it.
type digester struct {
	rooms sync.Pool // of *[]byte, where requests are written to be hashed
}

// of returns a hash of what the client asked: a retry has the same, another request another. Secrets enter as hashes; what may
// differ between attempts does not enter. A copy of the request would be dearer than all the rest, so for as long as this takes the request
// itself is without them.
func (d *digester) of(change *Change) ([]byte, error) {
	request := change.Request
	if with, ok := request.(interface{ GetOptions() *tenurev1.CallOptions }); ok && with.GetOptions() != nil {
		o := with.GetOptions()
		id, key, epoch, secret := o.GetRequestId(), o.GetIdempotencyKey(), o.GetEpoch(), o.GetSessionSecret()
		shown := change.shown
		if o != change.Options {
			shown = Hashed(secret)
		}
		defer func() { o.RequestId, o.IdempotencyKey, o.Epoch, o.SessionSecret = id, key, epoch, secret }()
		o.RequestId, o.IdempotencyKey, o.Epoch, o.SessionSecret = nil, nil, 0, shown
	}
	if create, ok := request.(*tenurev1.CreateSessionRequest); ok {
		secret := create.GetSecret()
		defer func() { create.Secret = secret }()
		create.Secret = Hashed(secret)
	}
	room, ok := d.rooms.Get().(*[]byte)
	if !ok {
		room = new([]byte)
	}
	asked := append(append((*room)[:0], request.ProtoReflect().Descriptor().FullName()...), 0)
	asked, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(asked, request)
	if err != nil {
		return nil, fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(asked)
	if cap(asked) <= digestRoomMax {
		*room = asked
		d.rooms.Put(room)
	}
	return sum[:], nil
}

// Hashed returns the SHA-256 of a secret; nothing for none.
func Hashed(secret []byte) []byte {
	if len(secret) == 0 {
		return nil
	}
	sum := sha256.Sum256(secret)
	return sum[:]
}

// ShowsSecret tells whether a hash is that of a session's secret.
func ShowsSecret(shown, hash []byte) bool { return subtle.ConstantTimeCompare(shown, hash) == 1 }

// ActAs checks that a session lives, and that the caller may act as it: that takes the secret if the session has one. Which epoch the
// session is in is for the state machine to compare. shown is the hash of the secret that the call shows; nil for none.
func (c *Caller) ActAs(ctx context.Context, id storage.SessionID, shown []byte, o *tenurev1.CallOptions) error {
	record, err := c.LiveSession(ctx, id)
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
	if err = mayAct(id, hash, shown, o); err == nil {
		c.Secrets.Note(id, hash)
	}
	return err
}

// mayAct checks that a call shows the secret of which a session has the hash, and names an epoch. shown is the hash of what it shows. A session
// without a secret asks for neither.
func mayAct(id storage.SessionID, hash, shown []byte, o *tenurev1.CallOptions) error {
	if len(hash) == 0 {
		return nil
	}
	if !ShowsSecret(shown, hash) {
		return SecretWrong(id, len(o.GetSessionSecret()) > 0)
	}
	if o.GetEpoch() == 0 {
		return reason.Invalid("options.epoch", "is required for a session with a secret; it is 1 unless the session was taken over")
	}
	return nil
}

// SecretWrong returns the error for a caller that gave another secret than a session has, or none.
func SecretWrong(id storage.SessionID, given bool) *reason.Error {
	text := "the session has a secret, and none was given"
	if given {
		text = "the session has a secret, and the given one is wrong"
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG, "%s", text).With("session_id", id.String())
}

// LiveSession returns a session's record. Its secret never changes, so what this member has is enough; only when it has
// nothing does it ask whether there is something newer.
func (c *Caller) LiveSession(ctx context.Context, id storage.SessionID) (*storev1.SessionRecord, error) {
	s, err := c.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	record, live, err := s.Session(id)
	if live {
		err = s.unmarked(id, record)
	}
	c.CloseSnapshot(s)
	switch {
	case err != nil:
		return nil, err
	case live:
		return record, nil
	}
	if s, err = c.Reader(ctx, nil); err != nil {
		return nil, err
	}
	defer c.CloseSnapshot(s)
	return LiveAt(s, id)
}

// LiveAt returns the record of a session that lives, or why it does not.
func LiveAt(s *Snapshot, id storage.SessionID) (*storev1.SessionRecord, error) {
	record, live, err := s.Session(id)
	switch {
	case err != nil:
		return nil, err
	case !live:
		return nil, NoSession(s, id)
	}
	if err = s.unmarked(id, record); err != nil {
		return nil, err
	}
	return record, nil
}

// Marked returns the mark of the end list that has ended a session, or false. Such a session is dead to all who ask, although what it
// holds is freed later.
func (s *Snapshot) Marked(record *storev1.SessionRecord) (storage.EndMark, bool, error) {
	if s.At.EndMarks == 0 {
		return storage.EndMark{}, false, nil
	}
	return s.EndMark(record)
}

// unmarked returns why a session does not live that the end list has ended.
func (s *Snapshot) unmarked(id storage.SessionID, record *storev1.SessionRecord) error {
	mark, marked, err := s.Marked(record)
	if err != nil || !marked {
		return err
	}
	return sessionOver(id, mark.TimeMs, mark.Cause)
}

// NoSession returns why a session does not live.
func NoSession(s *Snapshot, id storage.SessionID) error {
	ended, known, err := s.EndedSession(id)
	if err != nil {
		return err
	}
	if !known {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, "there is no session %s", id).
			With("session_id", id.String()).With("revision", strconv.FormatUint(s.At.Revision, 10))
	}
	return sessionOver(id, ended.GetEndTimeMs(), ended.GetCause())
}

// sessionOver returns the error for a session that has ended.
func sessionOver(id storage.SessionID, atMs int64, cause storev1.SessionEndCause) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, "session %s ended at %s: %s", id,
		time.UnixMilli(atMs).UTC().Format(time.RFC3339), EndCauseText(cause)).
		With("session_id", id.String())
}
