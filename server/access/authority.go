package access

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

const (
	// ReviewEvery is how often an authority looks whether rights were taken away.
	ReviewEvery = 250 * time.Millisecond
	// authPrefix begins the methods that are guarded in every mode.
	authPrefix = "/tenure.v1.AuthService/"
	// healthPrefix and reflectionPrefix begin the methods that are not ours.
	healthPrefix, reflectionPrefix = "/grpc.health.", "/grpc.reflection."
	// ourPrefix begins the methods of the API.
	ourPrefix = "/tenure.v1."
)

// Node is what an authority needs of a member.
type Node interface {
	// ReadIndex returns once everything that was committed when it was called is applied here.
	ReadIndex(ctx context.Context) error
	// Store is the state machine.
	Store() *storage.Store
}

// Options are what an authority needs.
type Options struct {
	// Node is this member.
	Node Node
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Now is the wall clock; nil is the machine's. Only the ends of tokens are compared with it.
	Now func() time.Time
	// Clock is the monotonic clock, by which proofs grow old; nil is the machine's.
	Clock func() time.Time
	// Keys verify JSON Web Tokens.
	Keys *provider.Keys
	// StaleMax is how long stale reads, new streams and the list of the pool are served where credentials are looked at, after the last proof that
	// this member knows all rights; zero is StaleMaxDefault.
	StaleMax time.Duration
	// Noted says that contexts of calls may have a Note, because somebody writes down what is decided. Without it their notes stay empty.
	Noted bool
}

// Authority decides about calls. Any goroutine may call any method.
type Authority struct {
	node    Node
	table   *authz.Table
	answers *authz.Answers
	keys    *provider.Keys
	now     func() time.Time
	metrics *metrics
	noted   bool
	cache   cache
	fresh   fresh

	policies policies

	mu      sync.Mutex // guards streams
	streams map[*Stream]struct{}
}

// New returns an authority and registers its metrics.
func New(o Options) (*Authority, error) {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	a := &Authority{
		node: o.Node, table: authz.NewTable(), answers: authz.NewAnswers(), now: o.Now, metrics: m, streams: map[*Stream]struct{}{},
		keys: o.Keys, noted: o.Noted,
	}
	if a.now == nil {
		a.now = time.Now
	}
	if o.StaleMax == 0 {
		o.StaleMax = StaleMaxDefault
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	a.fresh = fresh{max: o.StaleMax, now: o.Clock}
	return a, nil
}

// Asks reports whether a call has to be decided about: in mode off only one about tokens and policies.
func (a *Authority) Asks(method string) bool {
	return a.node.Store().Rights.Now().Mode > storev1.AuthMode_AUTH_MODE_OFF || strings.HasPrefix(method, authPrefix)
}

// Grant is what was decided about one message: on whose behalf its call runs, and under which deny revision.
type Grant struct {
	authority *Authority
	caller    *identity.Client
	method    string
	needs     []authz.Need
	who       atomic.Pointer[Who]    // the caller at the last decision
	under     atomic.Uint64          // the deny revision at which it was allowed last
	looked    atomic.Uint64          // the deny revision at the last decision
	wouldDeny atomic.Bool            // it is served only because of the mode
	found     atomic.Pointer[lookup] // what decided that another snapshot may show otherwise; nil: nothing
	sight     atomic.Pointer[Sight]  // what the caller sees by the last decision, where it does not see all; see Sight
	reads     bool                   // what is found needs no proof: the call is decided about again on the snapshot that it reads, see At
	shows     bool                   // the call shows what this member has, which must not be too old once it is allowed: see current
	inPart    bool                   // it has needs that may be met in part
	rare      *rare                  // what few calls have; nil: none of it
	few       [1]authz.Need          // room for the needs of most messages
}

// rare is what the grants of few calls have: every call has a grant, which is no larger for it.
type rare struct {
	serviceOf func(authz.Need) string // see authz.Local; nil: the catalog says it
	claims    bool                    // the catalog says it as well, where serviceOf does not: see authz.Local
	denied    map[string]struct{}     // sessions of a message of renewals that are denied
}

// grantKey is the key of a call's grant, or of its stream, in its context.
type grantKey struct{}

// Of returns the grant of a call; nil where nothing was decided, as in mode off.
func Of(ctx context.Context) *Grant {
	switch v := ctx.Value(grantKey{}).(type) {
	case *Grant:
		return v
	case *Stream:
		return v.grant.Load()
	default:
		return nil
	}
}

// Who returns the caller as it was when the call was decided about last; never nil.
func (g *Grant) Who() *Who { return g.who.Load() }

// WhoAt returns the caller as a snapshot knows it, which may be newer than the decision. A nil grant is that of a call that passed no gate.
func (g *Grant) WhoAt(s *storage.Reader, at storage.Applied) (*Who, error) {
	if g == nil {
		return &Who{}, nil
	}
	return g.authority.who(s, at, g.caller)
}

// Principal returns on whose behalf a call runs; empty for no grant, and in mode off.
func (g *Grant) Principal() string {
	if g == nil || g.Who().Cause != "" {
		return ""
	}
	return g.Who().Principal
}

// Under returns the deny revision at which the call was allowed last.
func (g *Grant) Under() uint64 { return g.under.Load() }

// Call decides about the message of a call with one answer. The call runs under the context that it returns.
func (a *Authority) Call(ctx context.Context, caller *identity.Client, method string, request any) (context.Context, error) {
	r, reads := request.(reader)
	shows := reads && r.GetRead().GetStale() || method == tenurev1.PoolService_ListPool_FullMethodName
	if shows && !a.malformed(caller, method) {
		if err := a.current(ctx); err != nil {
			return nil, err
		}
	}
	g := &granted{Context: ctx, grant: Grant{authority: a, caller: caller, method: method, reads: reads, shows: shows}}
	if err := g.grant.about(ctx, request); err != nil {
		return nil, err
	}
	return g, nil
}

// granted is the context of a call about which was decided. Every call has one, so the grant is not an object of its own.
type granted struct {
	context.Context //nolint:containedctx // It is a context.

	grant Grant
}

// Value returns the grant for its key.
func (g *granted) Value(key any) any {
	if _, ok := key.(grantKey); ok {
		return &g.grant
	}
	return g.Context.Value(key)
}

// about decides about a message.
func (g *Grant) about(ctx context.Context, request any) error {
	needs, err := g.authority.needsOf(g.few[:0], g.method, request)
	g.needs, g.inPart = needs, isInPart(needs)
	if g.authority.noted {
		note(ctx, g)
	}
	if isTooLarge(err) { // In any mode: what it needs is not known.
		return err
	}
	if err = g.count(err); err != nil {
		return err
	}
	return g.Again(ctx)
}

// errUnlisted refuses a message that the table does not know.
func errUnlisted(method string) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "no rule can allow %s", method)
}

// errTooMany refuses a message that needs too many rights, before any of them is looked at.
func errTooMany() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the request names more than %d keys, sessions and entries", authz.NeedsMax).
		With("limit", "request_names_max").With("limit_value", strconv.Itoa(authz.NeedsMax))
}

// isTooLarge reports whether a message needs too many rights.
func isTooLarge(err error) bool {
	e := reason.Of(err)
	return e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE
}

// enforces reports whether a call is refused that no rule allows.
func (a *Authority) enforces(method string, mode storev1.AuthMode) bool {
	return mode == storev1.AuthMode_AUTH_MODE_ENFORCE || strings.HasPrefix(method, authPrefix)
}

// malformed reports whether a caller is refused whatever the cluster has: rules are enforced, and no cluster has made its credential. It costs no
// proof, whoever sends how many.
func (a *Authority) malformed(caller *identity.Client, method string) bool {
	return caller.Kind == identity.Bad && !free(method) && a.enforces(method, a.node.Store().Rights.Now().Mode)
}

// Again decides again, on what this member has applied. Before it says no it looks at what the cluster has, and also before it says yes to a
// change because of what the state has, or has not: what a call names by an id may belong to somebody else by now. Whether what this member shows
// is too old is asked after that wait, which may be long. A call that reads shows a part or all by the snapshot that it reads: see At.
func (g *Grant) Again(ctx context.Context) error {
	err := g.again(ctx)
	if err == nil && !g.reads {
		g.countParts()
	}
	return err
}

// again is Again, but that parts are not counted.
func (g *Grant) again(ctx context.Context) error {
	at, err := g.local()
	switch {
	case err != nil && reason.Of(err) == nil: // What is not a refusal is a failure of the store.
		return err
	case err == nil && !g.reads && g.found.Load() == nil && g.sight.Load() != nil:
		return g.seenAfresh(ctx, at)
	case err == nil && (g.reads || g.found.Load() == nil):
		return nil
	case g.authority.malformed(g.caller, g.method):
		return g.allowed(at, g.count(err))
	}
	proof := g.authority.proveUntil(ctx, ctx)
	served := g.afresh(ctx, at, proof)
	if served == nil && proof != nil {
		served = g.count(err)
	}
	return g.waited(served)
}

// waited returns the error of a decision that has waited; the proof with which the call came may be too old by then.
func (g *Grant) waited(err error) error {
	if err == nil && g.shows {
		if need, _ := g.authority.fresh.need(); need {
			return g.authority.errOld()
		}
	}
	return err
}

// afresh decides again about a call that was refused on what this member had at a deny revision. fresh says why it cannot have what the
// cluster has; nil: it has.
func (g *Grant) afresh(ctx context.Context, at uint64, fresh error) error {
	a := g.authority
	if fresh != nil {
		if g.who.Load() == nil || a.enforces(g.method, a.node.Store().Rights.Now().Mode) {
			return fresh
		}
		g.found.Store(nil) // It is served whatever is there.
		return g.allowed(at, nil)
	}
	if who := g.who.Load(); who != nil && who.lacksKeys {
		a.keys.Ask(ctx, who.provider)
	}
	at, err := g.local()
	return g.allowed(at, g.count(err))
}

// allowed notes at which deny revision a call was allowed, and that its token was used, unless it was not.
func (g *Grant) allowed(at uint64, err error) error {
	if err == nil {
		g.under.Store(at)
		g.who.Load().use()
	}
	return err
}

// count counts a denial, and lets pass what is only to be counted.
func (g *Grant) count(err error) error {
	if err == nil || reason.Of(err) == nil {
		return err
	}
	if !g.authority.enforces(g.method, g.authority.node.Store().Rights.Now().Mode) {
		g.countWouldDeny()
		g.found.Store(nil) // It is served whatever is there, and whole.
		g.sight.Store(nil)
		return nil
	}
	g.authority.metrics.denied.Inc()
	return err
}

// local decides on what this member has: from memory where that is enough, else on a snapshot. It returns the deny revision there.
func (g *Grant) local() (under uint64, err error) {
	if under, ok := g.remembered(); ok {
		return under, nil
	}
	s := g.authority.node.Store().NewReader()
	defer func() { err = errors.Join(err, s.Close()) }()
	at, err := s.Applied()
	if err != nil {
		return 0, err
	}
	return at.DenyRevision, g.allowed(at.DenyRevision, g.decide(s, at))
}

// remembered reports whether the caller is remembered, as of what this member has, with rights that meet all needs. It reads no row and
// allocates nothing. What it does not allow is decided on a snapshot.
func (g *Grant) remembered() (under uint64, ok bool) {
	at := g.authority.node.Store().Rights.Now()
	who := g.authority.cache.get(stateOf(at), g.caller)
	if who == nil || who.ended(g.authority) {
		return 0, false
	}
	// A need that names a session or an instance by id is met here only by a rule for all of them.
	if who.rights == nil || !who.rights.CoversAll(g.needs) {
		return 0, false
	}
	g.who.Store(who)
	g.looked.Store(at.DenyRevision)
	g.under.Store(at.DenyRevision)
	if g.found.Load() != nil { // A store is dearer than a load, and every call comes here.
		g.found.Store(nil)
	}
	if g.inPart {
		g.sight.Store(nil)
	}
	who.use()
	return at.DenyRevision, true
}

// At decides again on the snapshot that a call reads, unless nothing was taken away since it was decided, and it did not depend on what else
// the state had. A call that shows what its caller sees is always decided about again, because what was given to it shows more. A nil grant is that of
// a call about which there was nothing to decide: it may see no snapshot with rights, such as a member gets from the leader that knew of none
// when the call came.
func (g *Grant) At(s *storage.Reader, at storage.Applied) error {
	switch {
	case g == nil && at.AuthMode > storev1.AuthMode_AUTH_MODE_OFF:
		return errChanged()
	case g == nil, g.under.Load() == at.DenyRevision && g.found.Load() == nil && (!g.inPart || g.wouldDeny.Load()):
		return nil
	}
	err := g.allowed(at.DenyRevision, g.count(g.decide(s, at)))
	if err == nil {
		g.countParts()
	}
	return err
}

// decide decides on a snapshot.
func (g *Grant) decide(s *storage.Reader, at storage.Applied) error {
	who, err := g.authority.who(s, at, g.caller)
	if err != nil {
		return err
	}
	g.who.Store(who)
	g.looked.Store(at.DenyRevision)
	if who.Cause != "" && !free(g.method) {
		return denial(who, authz.Need{Kind: authz.Any})
	}
	find := lookup{state: s}
	if g.rare != nil {
		find.serviceOf, find.claims = g.rare.serviceOf, g.rare.claims
	}
	lacks := false
	for i, asked := range g.needs {
		if need, ok, err := find.need(asked); err != nil {
			return err
		} else if ok && !who.Covers(need) {
			if asked.Part {
				lacks = true
				continue
			}
			return denial(who, asked.With(g.needs[i+1:], who.Covers))
		}
	}
	g.see(who, at, lacks)
	if find.mayChange() {
		find.state = nil
		g.found.Store(&find)
	} else {
		g.found.Store(nil)
	}
	return nil
}

// free reports whether a method needs no right at all, and no credential that is right.
func free(method string) bool {
	return method == tenurev1.AuthService_BootstrapAuth_FullMethodName || method == tenurev1.AuthService_ResetAuth_FullMethodName ||
		strings.HasPrefix(method, healthPrefix)
}

// needsOf adds what a message needs to needs, which has none yet. One that names nothing still needs any right at all.
func (a *Authority) needsOf(needs []authz.Need, method string, request any) ([]authz.Need, error) {
	switch {
	case free(method):
		return nil, nil
	case strings.HasPrefix(method, reflectionPrefix):
		return append(needs, authz.Need{Kind: authz.Any}), nil
	}
	m, ok := request.(proto.Message)
	if !ok {
		return nil, errUnlisted(method)
	}
	needs, err := a.table.Append(needs, m)
	switch {
	case errors.Is(err, authz.ErrTooMany):
		return nil, errTooMany()
	case err != nil:
		return nil, errUnlisted(method)
	}
	if len(needs) == 0 {
		needs = append(needs, authz.Need{Kind: authz.Any})
	}
	return needs, nil
}

// denial returns the error for a caller without a right, or with a credential that is none.
func denial(who *Who, need authz.Need) error {
	if who.Cause != "" {
		why := who.Cause
		if why == causeUnknown {
			why = "there is no such token: it was revoked, or ended, or belongs to another cluster"
		}
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "the credential is not accepted: %s", why).
			With("cause", who.Cause)
	}
	needs := need.String()
	caller, lacks := who.Principal, "does not have the right "+needs
	if who.Principal == "" {
		caller, lacks = "callers without a credential", "do not have the right "+needs
	}
	switch {
	case need.Kind == authz.Any && who.Principal == "":
		lacks = "may not make this call: send a token, such as with --token-file or TENURE_TOKEN_FILE"
	case need.Kind == authz.Any:
		lacks = "has no rule in any policy, and this call needs one, whichever it is"
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "%s %s", caller, lacks).With("needs", needs)
}
