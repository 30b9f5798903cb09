package line

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// verb is what a call asks for.
type verb struct {
	method  string
	request proto.Message
	handler grpc.UnaryHandler
	// put puts the response into an answer.
	put func(*tenurev1.LineAnswer, proto.Message)
	// follow makes a call that has parts, in place of handler and put, and field is theirs in LinePart.
	follow func(grpc.ServerStream) error
	field  protowire.Number
	// waits says that the call may be under way for long.
	waits bool
	// keeps says that the request is needed as long as the call.
	keeps bool
}

// of returns the verb of a method of a service.
func of[Request, Response proto.Message](
	method string, request Request, call func(context.Context, Request) (Response, error), put func(*tenurev1.LineAnswer, Response),
) verb {
	return verb{
		method: method, request: request,
		handler: func(ctx context.Context, _ any) (any, error) { return call(ctx, request) },
		put: func(answer *tenurev1.LineAnswer, message proto.Message) {
			response, _ := message.(Response)
			put(answer, response)
		},
	}
}

// many returns the verb of a method of a service that streams.
func many[Request, Response any](
	method string, field protowire.Number, request *Request, serve func(*Request, grpc.ServerStreamingServer[Response]) error,
) verb {
	message, _ := any(request).(proto.Message)
	return verb{
		method: method, request: message, field: field, waits: true,
		follow: func(stream grpc.ServerStream) error {
			if err := stream.RecvMsg(request); err != nil {
				return err
			}
			return serve(request, &grpc.GenericServerStream[Request, Response]{ServerStream: stream})
		},
	}
}

// verb returns what a call asks for, or reports false if this member does not know it.
func (o *Options) verb(c *tenurev1.LineCall) (v verb, ok bool) {
	switch c.GetRequest().(type) {
	case *tenurev1.LineCall_Get, *tenurev1.LineCall_Put, *tenurev1.LineCall_Delete, *tenurev1.LineCall_DeletePrefix, *tenurev1.LineCall_Txn:
		return o.keyVerb(c), true
	case *tenurev1.LineCall_TryAcquireLock, *tenurev1.LineCall_CancelWait, *tenurev1.LineCall_ReleaseLock, *tenurev1.LineCall_GetLock, *tenurev1.LineCall_BreakLock, *tenurev1.LineCall_CheckSequencer:
		return o.lockVerb(c), true
	case *tenurev1.LineCall_CreateSession, *tenurev1.LineCall_RenewSession, *tenurev1.LineCall_DestroySession:
		return o.sessionVerb(c), true
	case *tenurev1.LineCall_Proclaim, *tenurev1.LineCall_Resign, *tenurev1.LineCall_GetLeader:
		return o.electionVerb(c), true
	case *tenurev1.LineCall_AcquireLock, *tenurev1.LineCall_Campaign, *tenurev1.LineCall_Observe, *tenurev1.LineCall_Watch:
		return o.longVerb(c), true
	default:
		return verb{}, false
	}
}

// keyVerb is verb for keys.
func (o *Options) keyVerb(c *tenurev1.LineCall) verb {
	switch r := c.GetRequest().(type) {
	case *tenurev1.LineCall_Get:
		return of(tenurev1.KVService_Get_FullMethodName, r.Get, o.KV.Get,
			func(a *tenurev1.LineAnswer, m *tenurev1.GetResponse) { a.Response = &tenurev1.LineAnswer_Get{Get: m} })
	case *tenurev1.LineCall_Put:
		return of(tenurev1.KVService_Put_FullMethodName, r.Put, o.KV.Put,
			func(a *tenurev1.LineAnswer, m *tenurev1.PutResponse) { a.Response = &tenurev1.LineAnswer_Put{Put: m} })
	case *tenurev1.LineCall_Delete:
		return of(tenurev1.KVService_Delete_FullMethodName, r.Delete, o.KV.Delete,
			func(a *tenurev1.LineAnswer, m *tenurev1.DeleteResponse) {
				a.Response = &tenurev1.LineAnswer_Delete{Delete: m}
			})
	case *tenurev1.LineCall_DeletePrefix:
		return of(tenurev1.KVService_DeletePrefix_FullMethodName, r.DeletePrefix, o.KV.DeletePrefix,
			func(a *tenurev1.LineAnswer, m *tenurev1.DeletePrefixResponse) {
				a.Response = &tenurev1.LineAnswer_DeletePrefix{DeletePrefix: m}
			})
	case *tenurev1.LineCall_Txn:
		return of(tenurev1.KVService_Txn_FullMethodName, r.Txn, o.KV.Txn,
			func(a *tenurev1.LineAnswer, m *tenurev1.TxnResponse) { a.Response = &tenurev1.LineAnswer_Txn{Txn: m} })
	default:
		return verb{}
	}
}

// lockVerb is verb for locks.
func (o *Options) lockVerb(c *tenurev1.LineCall) verb {
	switch r := c.GetRequest().(type) {
	case *tenurev1.LineCall_TryAcquireLock:
		try := of(tenurev1.LockService_TryAcquireLock_FullMethodName, r.TryAcquireLock, o.Locks.TryAcquireLock,
			func(a *tenurev1.LineAnswer, m *tenurev1.TryAcquireLockResponse) {
				a.Response = &tenurev1.LineAnswer_TryAcquireLock{TryAcquireLock: m}
			})
		try.waits, try.keeps = r.TryAcquireLock.GetWait().AsDuration() > 0, true
		return try
	case *tenurev1.LineCall_CancelWait:
		return of(tenurev1.LockService_CancelWait_FullMethodName, r.CancelWait, o.Locks.CancelWait,
			func(a *tenurev1.LineAnswer, m *tenurev1.CancelWaitResponse) {
				a.Response = &tenurev1.LineAnswer_CancelWait{CancelWait: m}
			})
	case *tenurev1.LineCall_ReleaseLock:
		return of(tenurev1.LockService_ReleaseLock_FullMethodName, r.ReleaseLock, o.Locks.ReleaseLock,
			func(a *tenurev1.LineAnswer, m *tenurev1.ReleaseLockResponse) {
				a.Response = &tenurev1.LineAnswer_ReleaseLock{ReleaseLock: m}
			})
	case *tenurev1.LineCall_GetLock:
		return of(tenurev1.LockService_GetLock_FullMethodName, r.GetLock, o.Locks.GetLock,
			func(a *tenurev1.LineAnswer, m *tenurev1.GetLockResponse) {
				a.Response = &tenurev1.LineAnswer_GetLock{GetLock: m}
			})
	case *tenurev1.LineCall_BreakLock:
		return of(tenurev1.LockService_BreakLock_FullMethodName, r.BreakLock, o.Locks.BreakLock,
			func(a *tenurev1.LineAnswer, m *tenurev1.BreakLockResponse) {
				a.Response = &tenurev1.LineAnswer_BreakLock{BreakLock: m}
			})
	case *tenurev1.LineCall_CheckSequencer:
		return of(tenurev1.LockService_CheckSequencer_FullMethodName, r.CheckSequencer, o.Locks.CheckSequencer,
			func(a *tenurev1.LineAnswer, m *tenurev1.CheckSequencerResponse) {
				a.Response = &tenurev1.LineAnswer_CheckSequencer{CheckSequencer: m}
			})
	default:
		return verb{}
	}
}

// sessionVerb is verb for sessions.
func (o *Options) sessionVerb(c *tenurev1.LineCall) verb {
	switch r := c.GetRequest().(type) {
	case *tenurev1.LineCall_CreateSession:
		return of(tenurev1.SessionService_CreateSession_FullMethodName, r.CreateSession, o.Sessions.CreateSession,
			func(a *tenurev1.LineAnswer, m *tenurev1.CreateSessionResponse) {
				a.Response = &tenurev1.LineAnswer_CreateSession{CreateSession: m}
			})
	case *tenurev1.LineCall_RenewSession:
		return of(tenurev1.SessionService_RenewSession_FullMethodName, r.RenewSession, o.Sessions.RenewSession,
			func(a *tenurev1.LineAnswer, m *tenurev1.RenewSessionResponse) {
				a.Response = &tenurev1.LineAnswer_RenewSession{RenewSession: m}
			})
	case *tenurev1.LineCall_DestroySession:
		return of(tenurev1.SessionService_DestroySession_FullMethodName, r.DestroySession, o.Sessions.DestroySession,
			func(a *tenurev1.LineAnswer, m *tenurev1.DestroySessionResponse) {
				a.Response = &tenurev1.LineAnswer_DestroySession{DestroySession: m}
			})
	default:
		return verb{}
	}
}

// electionVerb is verb for elections.
func (o *Options) electionVerb(c *tenurev1.LineCall) verb {
	switch r := c.GetRequest().(type) {
	case *tenurev1.LineCall_Proclaim:
		return of(tenurev1.ElectionService_Proclaim_FullMethodName, r.Proclaim, o.Elections.Proclaim,
			func(a *tenurev1.LineAnswer, m *tenurev1.ProclaimResponse) {
				a.Response = &tenurev1.LineAnswer_Proclaim{Proclaim: m}
			})
	case *tenurev1.LineCall_Resign:
		return of(tenurev1.ElectionService_Resign_FullMethodName, r.Resign, o.Elections.Resign,
			func(a *tenurev1.LineAnswer, m *tenurev1.ResignResponse) {
				a.Response = &tenurev1.LineAnswer_Resign{Resign: m}
			})
	case *tenurev1.LineCall_GetLeader:
		return of(tenurev1.ElectionService_GetLeader_FullMethodName, r.GetLeader, o.Elections.GetLeader,
			func(a *tenurev1.LineAnswer, m *tenurev1.GetLeaderResponse) {
				a.Response = &tenurev1.LineAnswer_GetLeader{GetLeader: m}
			})
	default:
		return verb{}
	}
}

// longVerb is verb for waits and watches. Numbers of fields are those of LineCall and LinePart.
func (o *Options) longVerb(c *tenurev1.LineCall) verb {
	switch r := c.GetRequest().(type) {
	case *tenurev1.LineCall_AcquireLock:
		return many(tenurev1.LockService_AcquireLock_FullMethodName, 33, r.AcquireLock, o.Locks.AcquireLock)
	case *tenurev1.LineCall_Campaign:
		return many(tenurev1.ElectionService_Campaign_FullMethodName, 34, r.Campaign, o.Elections.Campaign)
	case *tenurev1.LineCall_Observe:
		v := many(tenurev1.ElectionService_Observe_FullMethodName, 35, r.Observe, o.Elections.Observe)
		v.keeps = true
		return v
	case *tenurev1.LineCall_Watch:
		v := many(tenurev1.WatchService_Watch_FullMethodName, 36, r.Watch, o.Watches.Watch)
		v.keeps = true
		return v
	default:
		return verb{}
	}
}
