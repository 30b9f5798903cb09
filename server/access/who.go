package access

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/storage"
)

// knownMax is how many callers' rights are remembered. At it, all are forgotten.
const knownMax = 16_384

// causeUnknown says that no token has the text that a caller sent.
const causeUnknown = "unknown"

// Who is a caller as the state knows it.
type Who struct {
	// Principal is token:ACCESSOR, jwt:PROVIDER/SUBJECT, or that of a certificate; empty for a caller without a credential. With a Cause
	// it is whose the credential was, if that is known.
	Principal string
	// Credential is what it showed.
	Credential identity.Kind
	// Cause says why the credential is not accepted; empty: it is.
	Cause string
	// Accessor is that of the token, 16 bytes; nil for others, and for a token that is not accepted.
	Accessor []byte
	// Parent is that of the token's parent, 16 bytes; nil: it has none.
	Parent []byte
	// Policies are the names of its policies.
	Policies []string
	// ExpireTimeMs is when the credential ends, in milliseconds since the Unix epoch; zero: never.
	ExpireTimeMs int64

	rights *authz.Rights // nil: none
	used   atomic.Bool   // a call was served since Used looked last
	known  *known        // what connections keep of it; nil before it is remembered

	provider  string         // of a JSON Web Token, if it is known
	key       provider.KeyID // what verified it
	issuedMs  int64          // when it was issued, in milliseconds since the Unix epoch; zero: it does not say
	lacksKeys bool           // its provider's keys may be old
}

// ended reports whether the credential of a caller has ended, or its provider has withdrawn the key that verified it.
// One that was refused before does not end again: there is nothing new to decide about.
func (w *Who) ended(a *Authority) bool {
	if w.Cause != "" {
		return false
	}
	if w.ExpireTimeMs != 0 && a.now().UnixMilli() >= w.ExpireTimeMs {
		return true
	}
	return w.Credential == identity.JWT && !a.keys.Holds(w.provider, w.key)
}

// Covers reports whether the caller has a right.
func (w *Who) Covers(need authz.Need) bool { return w.rights != nil && w.rights.Covers(need) }

// cache remembers callers as of one state of tokens, policies, bindings and the mode.
type cache struct {
	mu    sync.RWMutex // guards what follows
	at    asOf
	known map[identity.Caller]*Who
	// named are the principals of tokens that were accepted since this member started, so that the audit log can say whose a revoked one
	// was. At knownMax all are forgotten.
	named map[identity.Caller]string
	// used are tokens that were used since Used looked last, and whose callers are forgotten. At usedMax no more are added.
	used map[Accessor]struct{}
}

// asOf is a state of tokens, policies, bindings and the mode.
type asOf struct {
	changes uint64 // grows with each change
	history [16]byte
}

// stateOf returns what callers are remembered as of, at a member whose rights are at.
func stateOf(at storage.RightsState) asOf { return asOf{at.Changes, at.HistoryID} }

// principalOf returns the principal of a token that was accepted before; empty: not here.
func (c *cache) principalOf(caller *identity.Client) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.named[caller.Brief()]
}

// known is a caller as of one state, as its connection keeps it. A connection that is silent would keep the caller's rights, which may be large, so
// they are taken away here when the caller is forgotten.
type known struct {
	at  asOf
	who atomic.Pointer[Who] // nil: it is forgotten
}

// get returns a caller as of a state, if it is remembered.
func (c *cache) get(at asOf, caller *identity.Client) *Who {
	if k, ok := caller.Known().(*known); ok && k.at == at {
		if who := k.who.Load(); who != nil {
			return who
		}
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.at != at {
		return nil
	}
	who := c.known[caller.Brief()]
	if who != nil {
		caller.Keep(who.known)
	}
	return who
}

// put remembers a caller as of a state. What is older than the newest state is not remembered.
func (c *cache) put(at asOf, caller *identity.Client, who *Who) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if caller.Kind == identity.Token {
		if c.named == nil || len(c.named) >= knownMax {
			c.named = map[identity.Caller]string{}
		}
		c.named[caller.Brief()] = who.Principal
	}
	switch newer := at.changes > c.at.changes || at.history != c.at.history; {
	case newer || c.known == nil || len(c.known) >= knownMax:
		c.noteUsed()
		c.forget()
		c.at, c.known = at, map[identity.Caller]*Who{}
	case at.changes < c.at.changes:
		return
	}
	if earlier := c.known[caller.Brief()]; earlier != nil {
		earlier.known.who.Store(nil)
		c.noteUse(earlier)
	}
	who.known = &known{at: c.at}
	who.known.who.Store(who)
	c.known[caller.Brief()] = who
	caller.Keep(who.known)
}

// forget takes from connections what they know of all callers. The caller holds mu.
func (c *cache) forget() {
	for _, who := range c.known {
		who.known.who.Store(nil)
	}
}

// who returns a caller as a snapshot knows it.
func (a *Authority) who(s *storage.Reader, applied storage.Applied, caller *identity.Client) (*Who, error) {
	at := stateOf(applied.Rights())
	who := a.cache.get(at, caller)
	if who == nil || caller.Kind == identity.JWT && who.ended(a) {
		var err error
		if who, err = a.look(s, at, caller); err != nil {
			return nil, err
		}
		if who.Cause == "" {
			a.cache.put(at, caller, who)
		}
	}
	if who.ExpireTimeMs != 0 && a.now().UnixMilli() >= who.ExpireTimeMs {
		return &Who{Credential: who.Credential, Principal: who.Principal, Cause: "expired", ExpireTimeMs: who.ExpireTimeMs}, nil
	}
	return who, nil
}

// look finds a caller in a snapshot of a state.
func (a *Authority) look(s *storage.Reader, at asOf, caller *identity.Client) (*Who, error) {
	who := &Who{Credential: caller.Kind, Cause: caller.Cause, Principal: caller.Principal}
	if who.Cause != "" {
		return who, nil
	}
	if caller.Kind == identity.JWT {
		if err := a.verify(s, who, caller.JWT); err != nil || who.Cause != "" {
			return who, err
		}
	}
	if caller.Kind != identity.Token {
		return who, a.bind(s, at, who)
	}
	t, err := s.TokenByHash(caller.Token[:])
	if err != nil {
		return nil, err
	}
	if t == nil {
		who.Cause, who.Principal = causeUnknown, a.cache.principalOf(caller)
		return who, nil
	}
	id, err := uuid.FromBytes(t.GetAccessor())
	if err != nil {
		return nil, err
	}
	who.Principal, who.Accessor, who.Policies, who.ExpireTimeMs = "token:"+id.String(), t.GetAccessor(), t.GetPolicies(), t.GetExpireTimeMs()
	who.Parent = t.GetParent()
	who.rights, err = a.rightsOfToken(s, at, who.Principal, t)
	return who, err
}

// rightsOfToken returns what a principal may do by a token: what its policies allow and those of all tokens from which it descends.
func (a *Authority) rightsOfToken(s *storage.Reader, at asOf, principal string, t *storev1.TokenRecord) (*authz.Rights, error) {
	rights, err := a.policies.rightsOf(s, at, principal, []grantOf{{t.GetNode(), t.GetPolicies()}})
	if err != nil || len(t.GetParent()) == 0 {
		return rights, err
	}
	parent, err := s.Token(t.GetParent())
	if err != nil {
		return nil, err
	}
	if parent == nil { // It would have taken its child with it.
		return authz.NewRights(principal, ""), nil
	}
	outer, err := a.rightsOfToken(s, at, principal, parent)
	if err != nil {
		return nil, err
	}
	return rights.Within(outer), nil
}

// verify finds who has a JSON Web Token.
func (a *Authority) verify(s *storage.Reader, who *Who, text identity.Text) error {
	providers, err := s.Providers()
	if err != nil {
		return err
	}
	claims, cause := a.keys.Verify(providers, string(text))
	who.provider = claims.Provider
	if cause != 0 {
		who.Cause, who.lacksKeys = cause.String(), cause == provider.CauseNoKeys || cause == provider.CauseKey
		return nil
	}
	who.Principal, who.ExpireTimeMs = storage.JWTPrincipal(claims.Provider, claims.Subject), claims.ExpireMs
	who.key, who.issuedMs = claims.Key, claims.IssuedMs
	return nil
}

// grantOf are policies with the machine that their rules mean by self.
type grantOf struct {
	node     string
	policies []string
}

// bind gives a caller without a token of the cluster the policies of the bindings that are about it.
func (a *Authority) bind(s *storage.Reader, at asOf, who *Who) error {
	kind := storev1.BindingKind_BINDING_KIND_ANONYMOUS
	switch who.Credential {
	case identity.Certificate:
		kind = storev1.BindingKind_BINDING_KIND_CERTIFICATE
	case identity.JWT:
		kind = storev1.BindingKind_BINDING_KIND_JWT
	case identity.None, identity.Token, identity.Bad:
	}
	bindings, err := a.policies.bindings(s, at)
	if err != nil {
		return err
	}
	var all []grantOf
	for _, b := range bindings {
		if b.GetKind() == kind && matches(b.GetPrincipal(), who.Principal) && who.issuedMs >= b.GetIssuedAfterMs() {
			all = append(all, grantOf{b.GetNode(), b.GetPolicies()})
			who.Policies = append(who.Policies, b.GetPolicies()...)
		}
	}
	who.rights, err = a.policies.rightsOf(s, at, who.Principal, all)
	return err
}

// matches reports whether a binding is about a principal.
func matches(binding, principal string) bool {
	if strings.HasSuffix(binding, "/") || strings.HasSuffix(binding, ":") {
		return strings.HasPrefix(principal, binding)
	}
	return binding == principal
}
