package authz

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// ask is one thing that a request needs, as the text of the design says it. It shares nothing with Need.
type ask struct {
	noun  string // key, session, node, service, operator, admin, any
	verbs string // each is enough
	// which names it is about: one, all that begin with it, or those from it to end.
	which     string
	name, end string
	by        *fact // of a session: also by node, and by who made it
	part      bool  // without it the answer has less, and is not denied
}

// fact is a session that exists; of nil nothing is known.
type fact struct {
	name, node, maker string
	deletes           bool
}

// facts is what the state has in these tests: sessions by id, and the services of instances and checks.
var (
	sessionFacts = map[string]*fact{
		"own":   {name: "web-1", node: "h1", maker: "token:me"},
		"self":  {name: "job", node: "here", maker: "token:you"},
		"del":   {name: "db", maker: "token:you", deletes: true},
		"plain": {name: "batch"},
	}
	instanceFacts = map[string]string{"h1/i1": "web", "h2/i1": "db"}
	queryFacts    = map[string]struct {
		name     string
		byPrefix bool
	}{storedQuery: {"db", false}, longerNames: {"web-", true}}
	checkFacts = map[string]string{"h1/c1": "web", "h1/c0": ""} // The second is of the node.
	nodeFacts  = map[string]string{firstNode: "h1", secondNode: "h2"}
)

// Ids of nodes in these tests; the last one is of none.
const (
	firstNode  = "00000000-0000-4000-8000-00000000000a"
	secondNode = "00000000-0000-4000-8000-00000000000b"
	noNode     = "00000000-0000-4000-8000-00000000000c"
)

// Ids of prepared queries in these tests; the last one is of none.
const (
	storedQuery = "00000000-0000-4000-8000-000000000001"
	longerNames = "00000000-0000-4000-8000-000000000002"
	noQuery     = "00000000-0000-4000-8000-000000000009"
)

// naive says what requests need: a second writing of the design's table, by message, with the least possible cleverness.
type naive []ask

// asksOf is what a request needs. Where it asks for what is visible only, whatever it does not name itself is left out, and it takes any rule; in a
// transaction that changes nothing.
func asksOf(request proto.Message) (naive, bool) {
	var n naive
	known := n.of(request)
	if m, may := request.(interface{ GetVisibleOnly() bool }); may && m.GetVisibleOnly() {
		for i := range n {
			n[i].part = n[i].which != ""
		}
		n.one("any", "", "")
	}
	return n, known
}

func (n *naive) one(noun, verbs, name string) {
	*n = append(*n, ask{noun: noun, verbs: verbs, name: name})
}

func (n *naive) prefix(noun, verbs, name string) {
	*n = append(*n, ask{noun: noun, verbs: verbs, which: "prefix", name: name})
}

func (n *naive) named(noun, verbs, name string) {
	if name == "" {
		n.prefix(noun, verbs, "")
		return
	}
	n.one(noun, verbs, name)
}
func (n *naive) node(verbs, name string) { n.named("node", verbs, strings.ToLower(name)) }

func (n *naive) session(verbs, id string) {
	if id == "" {
		return
	}
	f := sessionFacts[id]
	if f == nil {
		*n = append(*n, ask{noun: "unknown session"})
		return
	}
	*n = append(*n, ask{noun: "session", verbs: verbs, name: f.name, by: f})
}

func (n *naive) instance(node, id string) {
	if name, there := instanceFacts[strings.ToLower(node)+"/"+id]; there {
		n.one("service", "write", name)
	}
}

func (n *naive) check(verbs, node, id string) {
	if name := checkFacts[strings.ToLower(node)+"/"+id]; name != "" {
		n.one("service", verbs, name)
	}
}

// bound is what it takes to name checks of a node for a session. Without a node there are none.
func (n *naive) bound(node string, c *tenurev1.SessionChecks) {
	ids := slices.Concat(c.GetNodeChecks(), c.GetServiceChecks())
	if node == "" || len(ids) == 0 {
		return
	}
	n.node("read", node)
	for _, id := range ids {
		n.check("read", node, id)
	}
}

func (n *naive) options(o *tenurev1.CallOptions) {
	n.session("write", o.GetRequestId().GetSessionId())
	for _, g := range o.GetGuards() {
		n.guard(g)
	}
}

func (n *naive) guard(g *tenurev1.Guard) {
	switch is := g.GetCondition().(type) {
	case *tenurev1.Guard_Held:
		n.one("key", "read lock", is.Held.GetKey())
	case *tenurev1.Guard_SessionAlive:
		n.session("read", is.SessionAlive)
	case *tenurev1.Guard_Key:
		n.one("key", "read", is.Key.GetKey())
	}
}

// lock is what taking a lock needs.
func (n *naive) lock(key, session string, value bool, o *tenurev1.CallOptions) {
	n.one("key", "lock", key)
	n.session("write", session)
	if f := sessionFacts[session]; value || f != nil && f.deletes {
		n.one("key", "write", key)
	}
	n.options(o)
}

func (n *naive) watched(keys, prefixes []string) {
	for _, key := range keys {
		n.one("key", "read", key)
		n.one("key", "watch", key)
	}
	for _, prefix := range prefixes {
		for _, verb := range []string{"read", "watch", "list"} {
			n.prefix("key", verb, prefix)
		}
	}
}

// of says what a request needs; false for one that the design does not name.
func (n *naive) of(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.GetRequest:
		n.one("key", "read", m.GetKey())
	case *tenurev1.GetLockRequest:
		n.one("key", "read", m.GetKey())
	case *tenurev1.GetLeaderRequest:
		n.one("key", "read", m.GetKey())
	case *tenurev1.CheckSequencerRequest:
		switch proof := m.GetProof().(type) {
		case *tenurev1.CheckSequencerRequest_Sequencer:
			n.one("key", "read", proof.Sequencer.GetKey())
		case *tenurev1.CheckSequencerRequest_Text:
			if s, err := sequencer.Parse(proof.Text); err == nil {
				n.one("key", "read", s.GetKey())
			} else {
				n.prefix("key", "read", "")
			}
		}
	case *tenurev1.ListRequest:
		n.prefix("key", "list", m.GetPrefix())
		if !m.GetKeysOnly() {
			n.prefix("key", "read", m.GetPrefix())
		}
	case *tenurev1.ListLocksRequest:
		n.prefix("key", "list", m.GetPrefix())
		n.prefix("key", "read", m.GetPrefix())
		n.session("read", m.GetSessionId())
		if m.GetHeldBy() != "" {
			n.prefix("session", "read", m.GetHeldBy())
		}
	case *tenurev1.PutRequest:
		n.put(m)
	case *tenurev1.DeleteRequest:
		n.one("key", "write", m.GetKey())
		if m.GetDropHolds() {
			n.one("key", "lock", m.GetKey())
		}
		n.options(m.GetOptions())
	case *tenurev1.DeletePrefixRequest:
		n.prefix("key", "write", m.GetPrefix())
		n.prefix("key", "list", m.GetPrefix())
		if m.GetDropHolds() {
			n.prefix("key", "lock", m.GetPrefix())
		}
		n.options(m.GetOptions())
	case *tenurev1.TxnRequest:
		return n.txn(m)
	case *tenurev1.WatchRequest:
		n.watch(m)
	default:
		return n.ofLocks(request) || n.ofSessions(request) || n.ofCatalog(request) || n.ofQueries(request) || n.ofOperators(request)
	}
	return true
}

func (n *naive) put(m *tenurev1.PutRequest) {
	if m.GetSequential() {
		n.prefix("key", "write", m.GetKey())
	} else {
		n.one("key", "write", m.GetKey())
	}
	if m.GetAcquire() != "" {
		n.one("key", "lock", m.GetKey())
		n.session("write", m.GetAcquire())
	}
	switch {
	case m.GetRelease() == "":
	case m.GetOptions().GetForce():
		n.one("key", "break", m.GetKey())
	default:
		n.one("key", "lock", m.GetKey())
		n.session("write", m.GetRelease())
	}
	n.session("write", m.GetBindSession())
	n.options(m.GetOptions())
}

func (n *naive) txn(m *tenurev1.TxnRequest) bool {
	for _, c := range m.GetCompares() {
		if c.GetGuard() == nil || c.GetKey() != "" {
			n.one("key", "read", c.GetKey())
		}
		n.guard(c.GetGuard())
	}
	known := true
	for _, op := range slices.Concat(m.GetThen(), m.GetOtherwise()) {
		switch is := op.GetKind().(type) {
		case *tenurev1.Op_Get:
			known = n.of(is.Get) && known
		case *tenurev1.Op_List:
			known = n.of(is.List) && known
		case *tenurev1.Op_Put:
			known = n.of(is.Put) && known
		case *tenurev1.Op_Delete:
			known = n.of(is.Delete) && known
		case *tenurev1.Op_DeletePrefix:
			known = n.of(is.DeletePrefix) && known
		case *tenurev1.Op_AcquireLock:
			known = n.of(is.AcquireLock) && known
		case *tenurev1.Op_ReleaseLock:
			known = n.of(is.ReleaseLock) && known
		case *tenurev1.Op_Check:
			n.guard(is.Check)
		case *tenurev1.Op_Catalog:
			n.catalogOp(is.Catalog)
		}
	}
	n.options(m.GetOptions())
	return known
}

func (n *naive) watch(m *tenurev1.WatchRequest) {
	before := len(*n)
	n.watched(m.GetKeys(), m.GetPrefixes())
	n.watched(m.GetLocks(), m.GetLockPrefixes())
	if m.GetRangeStart() != "" || m.GetRangeEnd() != "" {
		for _, verb := range []string{"read", "watch", "list"} {
			*n = append(*n, ask{noun: "key", verbs: verb, which: "range", name: m.GetRangeStart(), end: m.GetRangeEnd()})
		}
	}
	for _, id := range m.GetSessionIds() {
		n.session("read", id)
	}
	if m.GetAllSessions() {
		n.prefix("session", "read", "")
	}
	for _, name := range m.GetNodes() {
		n.node("read", name)
		n.prefix("service", "read", "")
	}
	for _, name := range m.GetServices() {
		n.named("service", "read", name)
		n.prefix("node", "read", "")
	}
	if m.GetAllQueries() {
		n.prefix("query", "read", "")
	}
	if m.GetAllNodes() || m.GetAllServices() {
		n.prefix("node", "read", "")
		n.prefix("service", "read", "")
	}
	if len(*n) == before && len(m.GetSessionIds()) == 0 { // It selects nothing, and so all keys.
		n.watched(nil, []string{""})
	}
}

func (n *naive) ofLocks(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.AcquireLockRequest:
		n.lock(m.GetKey(), m.GetSessionId(), m.Value != nil, m.GetOptions())
	case *tenurev1.TryAcquireLockRequest:
		n.lock(m.GetKey(), m.GetSessionId(), m.Value != nil, m.GetOptions())
	case *tenurev1.CampaignRequest:
		n.lock(m.GetKey(), m.GetSessionId(), m.GetContent() != nil, m.GetOptions())
	case *tenurev1.CancelWaitRequest:
		n.one("key", "lock", m.GetKey())
		n.session("write", m.GetSessionId())
		n.options(m.GetOptions())
	case *tenurev1.ReleaseLockRequest:
		if m.GetOptions().GetForce() {
			n.one("key", "break", m.GetKey())
		} else {
			n.one("key", "lock", m.GetKey())
			n.session("write", m.GetSessionId())
		}
		if m.GetValueOp() != nil {
			n.one("key", "write", m.GetKey())
		}
		n.options(m.GetOptions())
	case *tenurev1.BreakLockRequest:
		n.one("key", "break", m.GetKey())
		n.options(m.GetOptions())
	case *tenurev1.ProclaimRequest:
		n.one("key", "write", m.GetKey())
		n.session("write", m.GetSequencer().GetSessionId())
		if other := m.GetSequencer().GetKey(); other != "" {
			n.one("key", "write", other)
		}
		n.options(m.GetOptions())
	case *tenurev1.ResignRequest:
		n.one("key", "lock", m.GetKey())
		n.session("write", m.GetSessionId())
		if m.GetToSessionId() != "" {
			n.one("key", "read", m.GetKey())
		}
		n.options(m.GetOptions())
	case *tenurev1.ObserveRequest:
		n.watched([]string{m.GetKey()}, nil)
	default:
		return false
	}
	return true
}

func (n *naive) ofSessions(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.CreateSessionRequest:
		*n = append(*n, ask{noun: "session", verbs: "write", name: m.GetName(), by: &fact{node: strings.ToLower(m.GetNode())}})
		n.bound(m.GetNode(), m.GetChecks())
		n.options(m.GetOptions())
	case *tenurev1.RenewSessionRequest:
		n.session("write", m.GetSessionId())
		n.options(m.GetOptions())
	case *tenurev1.KeepAliveRequest:
		for _, r := range m.GetRenewals() {
			n.session("write", r.GetSessionId())
		}
	case *tenurev1.AttachSessionRequest:
		n.session("write", m.GetSessionId())
		n.options(m.GetOptions())
	case *tenurev1.DestroySessionRequest:
		verb := "write"
		if m.GetForce() || m.GetOptions().GetForce() {
			verb = "break"
		}
		n.session(verb, m.GetSessionId())
		n.options(m.GetOptions())
	case *tenurev1.GetSessionRequest:
		n.session("read", m.GetSessionId())
	case *tenurev1.ListSessionsRequest:
		listed := &fact{node: strings.ToLower(m.GetNode())}
		if len(m.GetPrincipals()) == 1 {
			listed.maker = m.GetPrincipals()[0]
		}
		*n = append(*n, ask{noun: "session", verbs: "read", which: "prefix", name: m.GetNamePrefix(), by: listed})
		for _, principal := range m.GetPrincipals() { // One may ask for one's own.
			n.one("admin", "read", strings.TrimPrefix(principal, "token:"))
		}
	default:
		return false
	}
	return true
}

// token is what acting on a token needs: one's own is named by its accessor, or by none.
func (n *naive) token(verb, accessor string) {
	if accessor == "" {
		n.one("any", "", "")
		return
	}
	n.one("admin", verb, accessor)
}

func (n *naive) ofOperators(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.GetStatusRequest, *tenurev1.GetLimitsRequest, *tenurev1.GetAuthStatusRequest:
		n.one("operator", "read", "")
	case *tenurev1.AddMemberRequest, *tenurev1.PromoteMemberRequest, *tenurev1.RemoveMemberRequest, *tenurev1.ReplaceMemberRequest,
		*tenurev1.TransferLeadershipRequest, *tenurev1.SetLimitsRequest, *tenurev1.CompactRequest, *tenurev1.EndFreezeRequest:
		n.one("operator", "write", "")
	case *tenurev1.BackupRequest:
		n.one("operator", "backup", "")
	case *tenurev1.CreateTokenRequest: // The holder of a token may make a child of it.
		n.one("admin", "write", m.GetParent())
	case *tenurev1.SetAuthModeRequest, *tenurev1.PutPolicyRequest, *tenurev1.DeletePolicyRequest,
		*tenurev1.PutBindingRequest, *tenurev1.DeleteBindingRequest, *tenurev1.PutProviderRequest, *tenurev1.DeleteProviderRequest:
		n.one("admin", "write", "")
	case *tenurev1.GetPolicyRequest, *tenurev1.ListPoliciesRequest, *tenurev1.ListTokensRequest, *tenurev1.ListBindingsRequest,
		*tenurev1.ListProvidersRequest:
		n.one("admin", "read", "")
	case *tenurev1.GetTokenRequest:
		n.token("read", m.GetAccessor())
	case *tenurev1.RotateTokenRequest:
		n.token("write", m.GetAccessor())
	case *tenurev1.RevokeTokenRequest:
		n.token("write", m.GetAccessor())
	case *tenurev1.ListMembersRequest, *tenurev1.WhoAmIRequest, *tenurev1.CheckAccessRequest:
		n.one("any", "", "")
	case *tenurev1.BootstrapAuthRequest, *tenurev1.ResetAuthRequest: // Nothing.
	default:
		return false
	}
	return true
}
