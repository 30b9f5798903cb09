package proof_test

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// identity is how a call is known again.
type identity int

const (
	byRequestID identity = 1 << iota
	byKey
	byEither = byRequestID | byKey
)

// scene is where one case plays: a key, the session that acts and another one.
type scene struct {
	c         *client
	key       string
	id, other string
	proof     *tenurev1.Sequencer // of id's hold, if it has one
}

// onceCase is a call that must have one effect, however often it is sent.
type onceCase struct {
	identity identity
	// changes is by how many revisions the call moves the cluster.
	changes uint64
	// setup makes what the call needs; nil is nothing.
	setup func(ctx context.Context, s *scene) error
	// send makes the call. The scene's client may be another one each time.
	send func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error)
	// reason is the reason of the error that is the answer; empty is success.
	reason string
}

func text(s string) *tenurev1.PutRequest_Text { return &tenurev1.PutRequest_Text{Text: s} }

func (s *scene) put(ctx context.Context, key string) error {
	_, err := s.c.Put(ctx, &tenurev1.PutRequest{Key: key, Content: text("before")})
	return err
}

// hold lets id hold the key's lock.
func (s *scene) hold(ctx context.Context) error {
	r, err := s.c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: s.key, SessionId: s.id})
	s.proof = r.GetHold().GetSequencer()
	return err
}

// otherHolds lets the other session hold the key's lock.
func (s *scene) otherHolds(ctx context.Context) error {
	_, err := s.c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: s.key, SessionId: s.other})
	return err
}

// queue lets a session wait for the key's lock, and goes.
func (s *scene) queue(ctx context.Context, session string) error {
	_, err := s.acquire(ctx, session, nil)
	return err
}

// acquire returns the first answer of AcquireLock, as its client keeps it.
func (s *scene) acquire(ctx context.Context, session string, o *tenurev1.CallOptions) (proto.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.c.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: s.key, SessionId: session, Options: o})
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

func (s *scene) campaign(ctx context.Context, o *tenurev1.CallOptions) (proto.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.c.Campaign(ctx, &tenurev1.CampaignRequest{
		Key: s.key, SessionId: s.id, Content: &tenurev1.CampaignRequest_Text{Text: "me"}, Options: o,
	})
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

// holdAndQueue lets id hold and the other one wait.
func (s *scene) holdAndQueue(ctx context.Context) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	return s.queue(ctx, s.other)
}

// waitBehind lets the other one hold and id wait.
func (s *scene) waitBehind(ctx context.Context) error {
	if err := s.otherHolds(ctx); err != nil {
		return err
	}
	return s.queue(ctx, s.id)
}

// onceCases are all calls that change something and take a request id or an idempotency key.
func onceCases() map[string]onceCase {
	cases := onceKeyCases()
	maps.Copy(cases, onceLockCases())
	return cases
}

func onceKeyCases() map[string]onceCase {
	putWith := func(change func(*scene, *tenurev1.PutRequest)) func(context.Context, *scene, *tenurev1.CallOptions) (proto.Message, error) {
		return func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
			r := &tenurev1.PutRequest{Key: s.key, Content: text("v"), Options: o}
			change(s, r)
			return s.c.Put(ctx, r)
		}
	}
	putBefore := func(ctx context.Context, s *scene) error { return s.put(ctx, s.key) }
	return map[string]onceCase{
		"put":           {byEither, 1, nil, putWith(func(*scene, *tenurev1.PutRequest) {}), ""},
		"put if absent": {byEither, 1, nil, putWith(func(_ *scene, r *tenurev1.PutRequest) { r.IfRevision = proto.Uint64(0) }), ""},
		"put that fails its comparison": {byEither, 0, putBefore, putWith(func(_ *scene, r *tenurev1.PutRequest) {
			r.IfRevision = proto.Uint64(0)
		}), "COMPARE_FAILED"},
		"put of a sequential key": {byEither, 1, nil, putWith(func(_ *scene, r *tenurev1.PutRequest) { r.Sequential = true }), ""},
		"put of an ephemeral key": {byEither, 1, nil, putWith(func(s *scene, r *tenurev1.PutRequest) { r.BindSession = s.id }), ""},
		"put that acquires":       {byEither, 1, nil, putWith(func(s *scene, r *tenurev1.PutRequest) { r.Acquire = s.id }), ""},
		"put that does not acquire": {
			byEither, 0, func(ctx context.Context, s *scene) error { return s.otherHolds(ctx) },
			putWith(func(s *scene, r *tenurev1.PutRequest) { r.Acquire = s.id }), "",
		},
		"put that releases": {
			byEither, 1, func(ctx context.Context, s *scene) error { return s.hold(ctx) },
			putWith(func(s *scene, r *tenurev1.PutRequest) { r.Release = s.id }), "",
		},
		"delete": {byEither, 1, putBefore, func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
			return s.c.Delete(ctx, &tenurev1.DeleteRequest{Key: s.key, Options: o})
		}, ""},
		"delete of nothing": {byEither, 0, nil, func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
			return s.c.Delete(ctx, &tenurev1.DeleteRequest{Key: s.key, Options: o})
		}, ""},
		"delete of a prefix": {byEither, 1, func(ctx context.Context, s *scene) error {
			for i := range 3 {
				if err := s.put(ctx, fmt.Sprint(s.key, "/", i)); err != nil {
					return err
				}
			}
			return nil
		}, func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
			return s.c.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: s.key + "/", Options: o})
		}, ""},
		"transaction": {byEither, 1, putBefore, func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
			return s.c.Txn(ctx, &tenurev1.TxnRequest{Options: o, Then: []*tenurev1.Op{
				{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: s.key}}},
				{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: s.key, Content: text("txn")}}},
				{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: s.key + "/s", Sequential: true}}},
				{Kind: &tenurev1.Op_AcquireLock{AcquireLock: &tenurev1.TryAcquireLockRequest{Key: s.key + "/l", SessionId: s.id}}},
			}})
		}, ""},
		"transaction that fails": {
			byEither, 0, func(ctx context.Context, s *scene) error { return s.otherHolds(ctx) },
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.Txn(ctx, &tenurev1.TxnRequest{Options: o, Then: []*tenurev1.Op{
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: s.key + "/a", Content: text("txn")}}},
					{Kind: &tenurev1.Op_AcquireLock{AcquireLock: &tenurev1.TryAcquireLockRequest{Key: s.key, SessionId: s.id}}},
				}})
			}, "LOCK_HELD",
		},
	}
}

func onceLockCases() map[string]onceCase {
	hold := func(ctx context.Context, s *scene) error { return s.hold(ctx) }
	otherHolds := func(ctx context.Context, s *scene) error { return s.otherHolds(ctx) }
	holdAndQueue := func(ctx context.Context, s *scene) error { return s.holdAndQueue(ctx) }
	try := func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
		return s.c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: s.key, SessionId: s.id, Options: o})
	}
	acquire := func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
		return s.acquire(ctx, s.id, o)
	}
	campaign := func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
		return s.campaign(ctx, o)
	}
	return map[string]onceCase{
		"try that acquires":       {byEither, 1, nil, try, ""},
		"try that does not":       {byEither, 0, otherHolds, try, ""},
		"acquire that is granted": {byEither, 1, nil, acquire, ""},
		"acquire that queues":     {byEither, 1, otherHolds, acquire, ""},
		"campaign that wins":      {byEither, 1, nil, campaign, ""},
		"campaign that queues":    {byEither, 1, otherHolds, campaign, ""},
		"cancel of a wait": {
			byRequestID, 1, func(ctx context.Context, s *scene) error { return s.waitBehind(ctx) },
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.CancelWait(ctx, &tenurev1.CancelWaitRequest{Key: s.key, SessionId: s.id, Options: o})
			}, "",
		},
		"release that grants to the next": {
			byEither, 1, holdAndQueue,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: s.key, SessionId: s.id, Options: o})
			}, "",
		},
		"release with a delete": {
			byEither, 1, hold,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{
					Key: s.key, SessionId: s.id, Options: o, ValueOp: &tenurev1.ReleaseLockRequest_Delete{Delete: true},
				})
			}, "",
		},
		"break": {
			byKey, 1, holdAndQueue,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.BreakLock(ctx, &tenurev1.BreakLockRequest{Key: s.key, Reason: "test", Options: o})
			}, "",
		},
		"proclamation": {
			byRequestID, 1, hold,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.Proclaim(ctx, &tenurev1.ProclaimRequest{
					Key: s.key, Sequencer: s.proof, Content: &tenurev1.ProclaimRequest_Text{Text: "news"}, Options: o,
				})
			}, "",
		},
		"resignation to a candidate": {
			byRequestID, 1, holdAndQueue,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.Resign(ctx, &tenurev1.ResignRequest{Key: s.key, SessionId: s.id, ToSessionId: s.other, Options: o})
			}, "",
		},
		"end of a session": {
			byRequestID, 1, holdAndQueue,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: s.id, Clean: true, Options: o})
			}, "",
		},
		"creation of a session": {
			byKey, 1, nil,
			func(ctx context.Context, s *scene, o *tenurev1.CallOptions) (proto.Message, error) {
				return s.c.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: s.key, Options: o})
			}, "",
		},
	}
}
