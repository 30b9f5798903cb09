package service

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
)

// Campaign serves ElectionService: the leader is whoever holds the key's lock, so to stand is to acquire it.
func (a *Elections) Campaign(
	r *tenurev1.CampaignRequest, stream grpc.ServerStreamingServer[tenurev1.CampaignResponse],
) error {
	value := r.GetValue()
	if text, ok := r.GetContent().(*tenurev1.CampaignRequest_Text); ok {
		value = []byte(text.Text)
	}
	acquire := &tenurev1.AcquireLockRequest{
		Key:               r.GetKey(),
		SessionId:         r.GetSessionId(),
		Mode:              tenurev1.LockMode_LOCK_MODE_EXCLUSIVE,
		Wait:              r.GetWait(),
		LeaveOnDisconnect: r.LeaveOnDisconnect,
		Options:           r.GetOptions(),
	}
	if r.GetContent() != nil {
		acquire.Value = append([]byte{}, value...)
	}
	return a.locks.acquireLock(acquire, storage.KeepsKeys(a.Node.Store().Applied().ClusterVersion), campaignStream{stream})
}

// campaignStream tells a candidate what a waiter is told.
type campaignStream struct {
	grpc.ServerStreamingServer[tenurev1.CampaignResponse]
}

// Send sends one step on the way to leadership.
func (s campaignStream) Send(step *tenurev1.AcquireLockResponse) error {
	out := &tenurev1.CampaignResponse{Header: step.GetHeader()}
	switch kind := step.GetStep().(type) {
	case *tenurev1.AcquireLockResponse_Queued:
		out.Step = &tenurev1.CampaignResponse_Queued{Queued: kind.Queued}
	case *tenurev1.AcquireLockResponse_Moved:
		out.Step = &tenurev1.CampaignResponse_Moved{Moved: kind.Moved}
	case *tenurev1.AcquireLockResponse_Granted:
		out.Step = &tenurev1.CampaignResponse_Elected{Elected: kind.Granted}
	case *tenurev1.AcquireLockResponse_Rejected:
		out.Step = &tenurev1.CampaignResponse_Rejected{Rejected: kind.Rejected}
	}
	return s.ServerStreamingServer.Send(out)
}

// Proclaim serves ElectionService: a put that demands the leader's sequencer.
func (a *Elections) Proclaim(ctx context.Context, r *tenurev1.ProclaimRequest) (*tenurev1.ProclaimResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	if r.GetSequencer() == nil {
		return nil, reason.Invalid("sequencer", "is required: it proves leadership")
	}
	if held := r.GetSequencer().GetKey(); held != r.GetKey() {
		return nil, reason.Invalid("sequencer.key", "is %q, and the election's key is %q", held, r.GetKey())
	}
	if err := call.CheckOptions(r.GetOptions(), call.OptionUse{Session: true, Guards: true, Request: true}); err != nil {
		return nil, err
	}
	ref, err := a.locks.namedSession(ctx, r.GetSequencer().GetSessionId(), r.GetOptions(), call.Operator{})
	if err != nil {
		return nil, err
	}
	if err = a.checkEpoch(ctx, ref, r.GetOptions()); err != nil {
		return nil, err
	}
	value := r.GetValue()
	if text, ok := r.GetContent().(*tenurev1.ProclaimRequest_Text); ok {
		value = []byte(text.Text)
	}
	if err = call.CheckValue("value", value); err != nil {
		return nil, err
	}
	options := &tenurev1.CallOptions{}
	if r.GetOptions() != nil {
		options = proto.CloneOf(r.GetOptions())
	}
	options.Guards = append(options.Guards, &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: r.GetSequencer()}})
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: options,
		Command: &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: r.GetKey(), Value: value}}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.ProclaimResponse{Header: a.HeaderOf(result)}, nil
}

// checkEpoch refuses an epoch that is over, where the command itself names no session. This member may not know yet of a
// taking-over; but then the sequencer that the command demands is stale.
func (a *Elections) checkEpoch(ctx context.Context, ref *storev1.SessionRef, o *tenurev1.CallOptions) error {
	id, err := storage.SessionIDFromBytes(ref.GetSessionId())
	if err != nil || o.GetEpoch() == 0 || o.GetRequestId() != nil { // The state machine compares that of a request id.
		return err
	}
	record, err := a.LiveSession(ctx, id)
	if err != nil || o.GetEpoch() >= record.GetEpoch() {
		return err
	}
	return superseded(id, record, o.GetEpoch())
}

// Resign serves ElectionService.
func (a *Elections) Resign(ctx context.Context, r *tenurev1.ResignRequest) (*tenurev1.ResignResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	use := call.OptionUse{Session: true, Owner: true, Guards: true, Request: true}
	if err := call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	if err := call.CheckText("to_owner", r.GetToOwner(), call.OwnerBytesMax); err != nil {
		return nil, err
	}
	resign := &storev1.Resign{
		Key:       r.GetKey(),
		Owner:     r.GetOptions().GetOwner(),
		LockIndex: r.GetLockIndex(),
		ToOwner:   r.GetToOwner(),
	}
	switch {
	case r.GetToSessionId() != "":
		to, err := call.ParseSession("to_session_id", r.GetToSessionId())
		if err != nil {
			return nil, err
		}
		resign.ToSessionId = to[:]
	case r.GetToOwner() != "":
		return nil, reason.Invalid("to_owner", "requires to_session_id")
	}
	var err error
	if resign.Session, err = a.locks.namedSession(ctx, r.GetSessionId(), r.GetOptions(), call.Operator{}); err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_Resign{Resign: resign}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.ResignResponse{
		Header:   a.HeaderOf(result),
		Resigned: result.GetReleaseLock().GetReleased(),
	}, nil
}

// GetLeader serves ElectionService.
func (a *Elections) GetLeader(ctx context.Context, r *tenurev1.GetLeaderRequest) (*tenurev1.GetLeaderResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
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
	office, err := a.officeAt(s, r.GetKey())
	if err != nil {
		return nil, err
	}
	return &tenurev1.GetLeaderResponse{Header: a.Header(s.At), Leader: office.leader()}, nil
}

// office is an election as it is: who leads, with which value, and how many wait.
type office struct {
	hold       *tenurev1.Hold // nil: nobody leads
	value      []byte
	candidates uint32
	unsent     bool // changed in a revision that is not over yet
}

// officeAt reads an election from a snapshot.
func (a *Elections) officeAt(s *call.Snapshot, key string) (office, error) {
	info, _, err := s.Lock(key)
	if err != nil {
		return office{}, err
	}
	kv, _, err := s.Get(key)
	if err != nil {
		return office{}, err
	}
	o := office{value: kv.GetValue(), candidates: info.State.GetWaiters()}
	if holds := info.State.GetHolds(); len(holds) == 1 && holds[0].GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		o.hold = call.HoldToProto(holds[0], s.At.HistoryID, a.Timers)
	}
	return o, nil
}

// leader returns who leads as the API shows it; nil if nobody does.
func (o *office) leader() *tenurev1.Leader {
	if o.hold == nil {
		return nil
	}
	return &tenurev1.Leader{
		Hold:       o.hold,
		Value:      o.value,
		Since:      o.hold.GetGrantTime(),
		Candidates: o.candidates,
	}
}

// follow brings the election up to date with one event of its key or lock. It reports whether somebody else leads now,
// or with another value.
func (o *office) follow(a *Elections, e *storev1.Event) (changed bool) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		changed = o.hold != nil && string(o.value) != string(kind.KeyPut.GetValue())
		o.value = kind.KeyPut.GetValue()
	case *storev1.Event_KeyDeleted:
		changed = o.hold != nil && len(o.value) > 0
		o.value = nil
	case *storev1.Event_LockQueued:
		o.candidates++
	case *storev1.Event_LockLeft:
		o.candidates -= min(o.candidates, 1)
	case *storev1.Event_LockGranted:
		g := kind.LockGranted
		if g.GetPlace() != 0 {
			o.candidates -= min(o.candidates, 1)
		}
		if g.GetMode() != storev1.LockMode_LOCK_MODE_EXCLUSIVE {
			return false
		}
		o.hold = a.GrantedToProto(e)
		return true
	case *storev1.Event_LockReleased:
		return o.vacate(kind.LockReleased.GetFencingToken())
	case *storev1.Event_LockLost:
		return o.vacate(kind.LockLost.GetFencingToken())
	}
	return changed
}

// vacate notes that a hold ended.
func (o *office) vacate(token uint64) bool {
	if o.hold == nil || o.hold.GetSequencer().GetFencingToken() != token {
		return false
	}
	o.hold = nil
	return true
}

// headerAt returns the header of an answer that shows a revision of the present history.
func (a *Elections) headerAt(revision uint64) *tenurev1.ResponseHeader {
	h := a.Header(a.Node.Store().Applied())
	h.Revision = revision
	return h
}
