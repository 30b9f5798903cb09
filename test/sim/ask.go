package sim

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// ask is what a client sends, and what it needs by a second account, which knows nothing of the product's table.
type ask struct {
	method  string
	request proto.Message
	// must are rights without one of which it must not be served, most are those with which it must be.
	must, most []right
}

// verb is what a right allows.
type verb byte

const (
	mayRead    verb = 'r'
	mayWrite   verb = 'w'
	mayLock    verb = 'l'
	maySession verb = 's' // act as sessions, and see them
	mayExist   verb = 'x' // nothing: the token is there
	mayAll     verb = 'a'
)

// right is one thing that a caller may do; with a key for the first three.
type right struct {
	verb verb
	key  string
}

func sessionOf(s *storev1.SessionRef) string { return sessionID(s.GetSessionId()) }

func sessionID(id []byte) string {
	if len(id) == 0 {
		return ""
	}
	return storage.SessionID(id).String()
}

// askOf returns what a client sends for a command.
func askOf(cmd *storev1.Command) *ask {
	o := &tenurev1.CallOptions{}
	must, most := optionsOf(cmd, o)
	a := askOfKeys(cmd, o)
	if a == nil {
		a = askOfSessions(cmd, o)
	}
	if a == nil {
		return askOfOperator(cmd)
	}
	a.must, a.most = append(a.must, must...), append(a.most, most...)
	return a
}

// optionsOf adds the options of a command, and returns what they need.
func optionsOf(cmd *storev1.Command, o *tenurev1.CallOptions) (must, most []right) {
	if id := cmd.GetRequestId(); id != nil {
		o.RequestId = &tenurev1.RequestID{SessionId: sessionID(id.GetSessionId()), Sequence: id.GetSequence()}
		must = append(must, right{verb: maySession})
	}
	for _, g := range cmd.GetGuards() {
		o.Guards = append(o.Guards, &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: &tenurev1.Sequencer{
			Key: g.GetHeld().GetKey(), SessionId: sessionID(g.GetHeld().GetSessionId()),
		}}})
		most = append(most, right{mayRead, g.GetHeld().GetKey()}) // Whoever may lock it needs not read it.
	}
	return must, append(most, must...)
}

func same(method string, request proto.Message, rights ...right) *ask {
	return &ask{method: method, request: request, must: rights, most: append([]right(nil), rights...)}
}

// askOfKeys returns the request for a command about keys; nil for others.
func askOfKeys(cmd *storev1.Command, o *tenurev1.CallOptions) *ask {
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_Put:
		rights := []right{{mayWrite, kind.Put.GetKey()}}
		bound := sessionOf(kind.Put.GetBindSession())
		if bound != "" {
			rights = append(rights, right{verb: maySession})
		}
		return same(tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: kind.Put.GetKey(), BindSession: bound, Options: o}, rights...)
	case *storev1.Command_Delete:
		return same(tenurev1.KVService_Delete_FullMethodName, &tenurev1.DeleteRequest{Key: kind.Delete.GetKey(), Options: o},
			right{mayWrite, kind.Delete.GetKey()})
	case *storev1.Command_Txn:
		return askOfTxn(kind.Txn, o)
	default:
		return nil
	}
}

// askOfTxn returns the request for a transaction of keys; nil for one about the catalog.
func askOfTxn(t *storev1.Txn, o *tenurev1.CallOptions) *ask {
	request := &tenurev1.TxnRequest{Options: o}
	var rights []right
	ops := func(all []*storev1.Op) (asked []*tenurev1.Op) {
		for _, op := range all {
			switch kind := op.GetKind().(type) {
			case *storev1.Op_Get:
				asked = append(asked, &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: kind.Get.GetKey()}}})
				rights = append(rights, right{mayRead, kind.Get.GetKey()})
			case *storev1.Op_Put:
				asked = append(asked, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: kind.Put.GetKey()}}})
				rights = append(rights, right{mayWrite, kind.Put.GetKey()})
			}
		}
		return asked
	}
	for _, c := range t.GetCompares() {
		request.Compares = append(request.Compares, &tenurev1.Compare{Key: c.GetKey()})
		rights = append(rights, right{mayRead, c.GetKey()})
	}
	request.Then, request.Otherwise = ops(t.GetThenOps()), ops(t.GetElseOps())
	if len(rights) == 0 {
		return nil
	}
	return same(tenurev1.KVService_Txn_FullMethodName, request, rights...)
}

// askOfSessions returns the request for a command about locks and sessions; nil for others.
func askOfSessions(cmd *storev1.Command, o *tenurev1.CallOptions) *ask {
	session := right{verb: maySession}
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_AcquireLock:
		lock := kind.AcquireLock
		a := same(tenurev1.LockService_TryAcquireLock_FullMethodName, &tenurev1.TryAcquireLockRequest{
			Key: lock.GetKey(), SessionId: sessionOf(lock.GetSession()), Value: lock.GetValue(), Options: o,
		}, right{mayLock, lock.GetKey()}, session)
		if lock.GetValue() != nil {
			a.must = append(a.must, right{mayWrite, lock.GetKey()})
		}
		a.most = append(a.most, right{mayWrite, lock.GetKey()}) // A session may delete the keys that it had locked.
		return a
	case *storev1.Command_ReleaseLock:
		return same(tenurev1.LockService_ReleaseLock_FullMethodName, &tenurev1.ReleaseLockRequest{
			Key: kind.ReleaseLock.GetKey(), SessionId: sessionOf(kind.ReleaseLock.GetSession()), Options: o,
		}, right{mayLock, kind.ReleaseLock.GetKey()}, session)
	case *storev1.Command_CancelWait:
		return same(tenurev1.LockService_CancelWait_FullMethodName, &tenurev1.CancelWaitRequest{
			Key: kind.CancelWait.GetKey(), SessionId: sessionOf(kind.CancelWait.GetSession()), Options: o,
		}, right{mayLock, kind.CancelWait.GetKey()}, session)
	case *storev1.Command_CreateSession:
		return same(tenurev1.SessionService_CreateSession_FullMethodName,
			&tenurev1.CreateSessionRequest{Name: kind.CreateSession.GetName(), Node: kind.CreateSession.GetNode()}, session)
	case *storev1.Command_DestroySession:
		return same(tenurev1.SessionService_DestroySession_FullMethodName,
			&tenurev1.DestroySessionRequest{SessionId: sessionOf(kind.DestroySession.GetSession()), Options: o}, session)
	case *storev1.Command_TakeOverSession:
		return same(tenurev1.SessionService_AttachSession_FullMethodName,
			&tenurev1.AttachSessionRequest{SessionId: sessionID(kind.TakeOverSession.GetSessionId()), TakeOver: true}, session)
	default:
		return nil
	}
}

// askOfOperator returns the request for what an operator does, with a token that may do everything.
func askOfOperator(cmd *storev1.Command) *ask {
	var method string
	var request proto.Message
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_BreakLock:
		method, request = tenurev1.LockService_BreakLock_FullMethodName, &tenurev1.BreakLockRequest{Key: kind.BreakLock.GetKey()}
	case *storev1.Command_Compact:
		method, request = tenurev1.ClusterService_Compact_FullMethodName, &tenurev1.CompactRequest{}
	case *storev1.Command_ChangeAuth:
		method, request = askOfAuth(kind.ChangeAuth)
	default: // It is about the catalog.
		method, request = tenurev1.CatalogService_DeregisterNode_FullMethodName, &tenurev1.DeregisterNodeRequest{Node: "m0"}
	}
	return &ask{method: method, request: request, most: []right{{verb: mayAll}}}
}

// askOfAuth returns the request for a change of tokens and policies.
func askOfAuth(change *storev1.ChangeAuth) (method string, request proto.Message) {
	switch kind := change.GetChange().(type) {
	case *storev1.ChangeAuth_Bootstrap:
		return tenurev1.AuthService_BootstrapAuth_FullMethodName, &tenurev1.BootstrapAuthRequest{}
	case *storev1.ChangeAuth_SetMode:
		return tenurev1.AuthService_SetAuthMode_FullMethodName, &tenurev1.SetAuthModeRequest{}
	case *storev1.ChangeAuth_PutPolicy:
		return tenurev1.AuthService_PutPolicy_FullMethodName, &tenurev1.PutPolicyRequest{Name: kind.PutPolicy.GetName()}
	case *storev1.ChangeAuth_DeletePolicy:
		return tenurev1.AuthService_DeletePolicy_FullMethodName, &tenurev1.DeletePolicyRequest{Name: kind.DeletePolicy}
	case *storev1.ChangeAuth_CreateToken:
		return tenurev1.AuthService_CreateToken_FullMethodName, &tenurev1.CreateTokenRequest{Name: kind.CreateToken.GetName()}
	case *storev1.ChangeAuth_RotateToken:
		return tenurev1.AuthService_RotateToken_FullMethodName, &tenurev1.RotateTokenRequest{Accessor: accessorText(kind.RotateToken.GetAccessor())}
	default:
		return tenurev1.AuthService_RevokeToken_FullMethodName, &tenurev1.RevokeTokenRequest{Accessor: accessorText(change.GetRevokeToken())}
	}
}

// asks returns the request of a read of keys or locks; nil where the plan has no tokens.
func (c *client) asks(method string, request proto.Message, keys ...string) *ask {
	if !c.w.plan.Tokens {
		return nil
	}
	a := same(method, request)
	for _, key := range keys {
		a.must = append(a.must, right{mayRead, key})
	}
	a.most = a.must
	return a
}

// lookRequest is a transaction that reads two keys.
func lookRequest(first, second string) *tenurev1.TxnRequest {
	get := func(key string) *tenurev1.Op {
		return &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: key}}}
	}
	return &tenurev1.TxnRequest{
		Compares: []*tenurev1.Compare{{Key: first}}, Then: []*tenurev1.Op{get(first), get(second)},
		Otherwise: []*tenurev1.Op{get(second), get(first)},
	}
}

// askOfRenewal returns the request for a renewal. A stream has no request of its own: its messages are decided about.
func askOfRenewal(s *session, single bool) *ask {
	if single {
		return same(tenurev1.SessionService_RenewSession_FullMethodName,
			&tenurev1.RenewSessionRequest{SessionId: storage.SessionID(s.id).String()}, right{verb: maySession})
	}
	return same(tenurev1.SessionService_KeepAlive_FullMethodName, nil, right{verb: maySession})
}

// asksToWatch returns the request for a watch; nil where the plan has no tokens.
func (c *client) asksToWatch(s watch.Selectors) *ask {
	if !c.w.plan.Tokens {
		return nil
	}
	a := same(tenurev1.WatchService_Watch_FullMethodName, &tenurev1.WatchRequest{
		Prefixes: s.Prefixes, LockPrefixes: s.LockPrefixes, AllSessions: s.AllSessions,
	})
	for _, prefix := range append(append([]string(nil), s.Prefixes...), s.LockPrefixes...) {
		a.must = append(a.must, right{mayRead, prefix}) // Whoever may read here may list and watch, too.
	}
	if s.AllSessions {
		a.must = append(a.must, right{verb: maySession})
	}
	a.most = a.must
	return a
}
