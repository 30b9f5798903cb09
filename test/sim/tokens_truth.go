package sim

import (
	"maps"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
	raftpb "go.etcd.io/raft/v3/raftpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// tokenTruth is what an observer of all members at once knows of tokens and policies, from the commands in the log.
type tokenTruth struct {
	w      *World
	index  uint64     // newest entry that was looked at
	states []rightsAt // in the order of their entries; the first is that of the beginning
	expire map[identity.Hash]time.Duration
}

// rightsAt is who may do what from an entry on. It never changes.
type rightsAt struct {
	index    uint64
	at       time.Duration // when the first member applied it
	enforced bool
	tokens   map[identity.Hash]tokenAt
	policies map[string]*variant
}

// tokenAt is a token that is there. It may do what its parent may do, too; an empty parent is none.
type tokenAt struct{ accessor, policy, parent string }

func newTokenTruth(w *World) *tokenTruth {
	return &tokenTruth{w: w, states: []rightsAt{{}}, expire: map[identity.Hash]time.Duration{}}
}

func accessorText(id []byte) string {
	u, err := uuid.FromBytes(id)
	if err != nil {
		return ""
	}
	return u.String()
}

// skew is by how much a member's wall clock may be off, at most.
func (t *tokenTruth) skew() time.Duration {
	return time.Duration(t.w.plan.DriftPercent/100*float64(t.w.plan.end())) + 10*time.Millisecond
}

// ends is when a caller's token ends; zero: never.
func (t *tokenTruth) ends(c identity.Caller) time.Duration { return t.expire[c.Token] }

// asOf returns who may do what at an index.
func (t *tokenTruth) asOf(index uint64) rightsAt {
	n := sort.Search(len(t.states), func(i int) bool { return t.states[i].index > index })
	return t.states[n-1]
}

// since returns who may do what from a moment until now: what held then, and all that came after.
func (t *tokenTruth) since(from time.Duration) []rightsAt {
	n := sort.Search(len(t.states), func(i int) bool { return t.states[i].at > from })
	return t.states[max(n, 1)-1:]
}

// allows reports whether a caller has rights. The end of its token is not looked at.
func (s rightsAt) allows(c identity.Caller, rights []right) bool {
	if !s.enforced {
		return true
	}
	token, known := s.tokens[c.Token]
	for ; known; token, known = s.token(token.parent) {
		policy := s.policies[token.policy]
		for _, r := range rights {
			if !policy.has(r) {
				return false
			}
		}
		if token.parent == "" {
			return true
		}
	}
	return false
}

// token returns the token with an accessor.
func (s rightsAt) token(accessor string) (tokenAt, bool) {
	for _, token := range s.tokens {
		if token.accessor == accessor {
			return token, true
		}
	}
	return tokenAt{}, false
}

// has reports whether a policy allows something; a missing one allows nothing.
func (v *variant) has(r right) bool {
	switch {
	case r.verb == mayExist:
		return true
	case v == nil:
		return false
	case v.everything:
		return true
	}
	within := strings.HasPrefix(r.key, v.prefix)
	switch r.verb {
	case mayRead:
		return v.read && within
	case mayWrite:
		return v.write && within
	case mayLock:
		return v.lock && within
	case maySession:
		return v.sessions
	default:
		return false
	}
}

// applied looks at entries that a member has applied, if it is the first.
func (t *tokenTruth) applied(work []*raftpb.Message, outcomes []storage.EntryOutcome) {
	if !t.w.plan.Tokens {
		return
	}
	t.index = t.w.eachCommand(t.index, work, outcomes, func(index uint64, cmd *storev1.Command, result *storev1.Result) {
		if result.GetFailure() == nil {
			t.effect(index, cmd)
		}
	})
}

// effect takes a command that did what it says. It must have been allowed when its turn came in the log.
func (t *tokenTruth) effect(index uint64, cmd *storev1.Command) {
	now := t.states[len(t.states)-1]
	if change := cmd.GetChangeAuth(); change != nil {
		t.states = append(t.states, t.changed(now, index, change))
		return
	}
	a := askOf(cmd)
	if !now.enforced || len(a.must) == 0 {
		return
	}
	accessor, ok := strings.CutPrefix(cmd.GetPrincipal(), "token:")
	if !ok {
		t.w.violated("tokens", "entry %d did something for nobody: %v", index, cmd)
		return
	}
	for hash, token := range now.tokens {
		if token.accessor == accessor && now.allows(identity.Caller{Token: hash}, a.must) {
			return
		}
	}
	t.w.violated("tokens", "entry %d did something for a caller who may not: %v", index, cmd)
}

// changed returns who may do what after a change.
func (t *tokenTruth) changed(before rightsAt, index uint64, change *storev1.ChangeAuth) rightsAt {
	s := rightsAt{index: index, at: t.w.now, enforced: before.enforced, tokens: maps.Clone(before.tokens), policies: maps.Clone(before.policies)}
	switch kind := change.GetChange().(type) {
	case *storev1.ChangeAuth_Bootstrap:
		if len(before.tokens) > 0 {
			break // It was made already.
		}
		s.tokens, s.policies = map[identity.Hash]tokenAt{}, map[string]*variant{storage.AdminPolicy: everything}
		t.add(s, kind.Bootstrap.GetToken())
	case *storev1.ChangeAuth_SetMode:
		s.enforced = kind.SetMode == storev1.AuthMode_AUTH_MODE_ENFORCE
	case *storev1.ChangeAuth_PutPolicy:
		s.policies[kind.PutPolicy.GetName()] = variantOf(kind.PutPolicy.GetRules())
	case *storev1.ChangeAuth_DeletePolicy:
		delete(s.policies, kind.DeletePolicy)
	case *storev1.ChangeAuth_CreateToken:
		t.add(s, kind.CreateToken)
	case *storev1.ChangeAuth_RotateToken:
		t.move(s, accessorText(kind.RotateToken.GetAccessor()), kind.RotateToken.GetTokenSha256())
	case *storev1.ChangeAuth_RevokeToken:
		t.move(s, accessorText(kind.RevokeToken), nil)
	}
	return s
}

func (t *tokenTruth) add(s rightsAt, record *storev1.TokenRecord) {
	hash := identity.Hash(record.GetTokenSha256())
	s.tokens[hash] = tokenAt{accessorText(record.GetAccessor()), record.GetPolicies()[0], accessorText(record.GetParent())}
	if end := record.GetExpireTimeMs(); end != 0 {
		t.expire[hash] = ms(end - wallBeginMs)
	}
	for other, token := range s.tokens {
		if end, ends := t.expire[other]; ends && token.accessor == s.tokens[hash].parent {
			t.expire[hash] = end
		}
	}
}

// move gives a token another text; none: it is no more. Its children are no more in both cases.
func (t *tokenTruth) move(s rightsAt, accessor string, text []byte) {
	for _, token := range s.tokens {
		if token.parent == accessor {
			t.move(s, token.accessor, nil)
		}
	}
	for hash, token := range s.tokens {
		if token.accessor != accessor {
			continue
		}
		delete(s.tokens, hash)
		if text != nil {
			s.tokens[identity.Hash(text)] = token
			if end, ends := t.expire[hash]; ends {
				t.expire[identity.Hash(text)] = end
			}
		}
		return
	}
}

// shown takes that a member lets a caller see a state, which is that of an index. A stale one must not be older than members may decide
// by what they know.
func (t *tokenTruth) shown(c identity.Caller, a *ask, index uint64, stale bool) {
	t.w.floors.Shown++
	s := t.asOf(index)
	if !s.allows(c, a.must) {
		t.w.violated("tokens", "%s shows something that its caller may not see at index %d", a.method, index)
	}
	if !stale || s.tokens == nil {
		return // A member that knows of no token yet shows what was everybody's then.
	}
	bound := time.Duration(float64(ms(t.w.plan.StaleMaxMs))*(1+t.w.plan.DriftPercent/50)) + 100*time.Millisecond
	if !t.anyAllows(c, a, t.w.now-bound) {
		t.w.violated("tokens", "%s shows something at index %d that its caller may not see since %v", a.method, index, bound)
	}
}

// anyAllows reports whether a caller may have done something at some time from a moment on.
func (t *tokenTruth) anyAllows(c identity.Caller, a *ask, from time.Duration) bool {
	enforced := true
	for _, s := range t.since(from) {
		if !s.enforced {
			return true
		}
		enforced = enforced && s.enforced
		if s.allows(c, a.must) && !t.ended(c, from) {
			return true
		}
	}
	return !enforced
}

// ended reports whether a caller's token has ended at a moment by all clocks.
func (t *tokenTruth) ended(c identity.Caller, at time.Duration) bool {
	end, ends := t.expire[c.Token]
	return ends && at > end+t.skew()
}

// served takes that a call was answered: there was a moment since it began when it was allowed.
func (t *tokenTruth) served(k *call) {
	if k.ask == nil || len(k.ask.must) == 0 || k.op.Stale {
		return
	}
	if !t.anyAllows(k.caller, k.ask, time.Duration(k.op.Call)) {
		t.w.violated("tokens", "op %d, %s of %s, was served, and its caller had no right to it since it began at %v", k.op.ID, k.ask.method,
			k.c.name, time.Duration(k.op.Call))
	}
}

// refused takes that a call which began at a moment was refused. If that was for want of a right, there was a moment when it was not
// allowed.
func (t *tokenTruth) refused(c identity.Caller, a *ask, from time.Duration, err error) {
	e := reason.Of(err)
	if e == nil {
		return
	}
	switch e.Reason {
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		t.w.floors.CallsDenied++
	default:
		return
	}
	if end, ends := t.expire[c.Token]; ends && t.w.now > end-t.skew() {
		return
	}
	for _, s := range t.since(from) {
		if !s.allows(c, a.most) {
			return
		}
	}
	t.w.violated("tokens", "%s was refused to a caller who may do it, since %v: %v", a.method, from, err)
}
