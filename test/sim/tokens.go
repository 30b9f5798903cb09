package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// drawTokens lets every fourth seed have tokens, with faults of leaders and links beside what there is. Draws of its own leave the rest
// of the plan as it is.
func (p *Plan) drawTokens(d *rand.Rand) {
	if d.IntN(4) > 0 {
		return
	}
	p.Tokens, p.StaleMaxMs = true, choose(d, int64(1000), 3000, 10_000)
	p.Clients = append(p.Clients, "admin")
	for range 4 + d.IntN(5) {
		kind := choose(d, "crash leader", "pause leader", "isolate leader", "isolate leader", "partition", "partition", "one way", "pause")
		p.Faults = append(p.Faults, p.drawFault(d, kind, 5000+d.Int64N(p.FaultsMs-5000)))
	}
	sortFaults(p.Faults)
}

// variant is a policy that a client may have: rules, and what they allow by a second account.
type variant struct {
	rules                string
	prefix               string // of the keys
	read, write, lock    bool
	sessions, everything bool
}

// wide allows a client all that it does; narrow ones take something of it away.
var (
	wide   = &variant{rules: "key * read list watch write lock\nsession * write\n", read: true, write: true, lock: true, sessions: true}
	narrow = []*variant{
		{rules: "key * read list watch\nsession * write\n", read: true, sessions: true},
		{rules: "key * read list watch lock\nsession * write\n", read: true, lock: true, sessions: true},
		{rules: "key * write lock\nsession * write\n", write: true, lock: true, sessions: true},
		{rules: "key \"k\"* read list watch write lock\nsession * write\n", prefix: "k", read: true, write: true, lock: true, sessions: true},
		{rules: "key * read list watch write lock\n", read: true, write: true, lock: true},
		{rules: "key \"none\" read\n", prefix: "none", read: true},
	}
	everything = &variant{everything: true}
)

// variantOf returns the variant with rules.
func variantOf(rules string) *variant {
	for _, v := range narrow {
		if v.rules == rules {
			return v
		}
	}
	return wide
}

// tokenCaller is who shows a token.
func tokenCaller(hash []byte) identity.Caller {
	return identity.Caller{Kind: identity.Token, Token: identity.Hash(hash)}
}

// firstToken is the one of the bootstrap, with which operators work.
var firstToken = func() []byte { return append(make([]byte, 31), 1) }()

// credential is what a client shows first.
func (w *World) credential(role string) identity.Caller {
	switch {
	case !w.plan.Tokens:
		return identity.Caller{}
	case holdsToken(role):
		return tokenCaller(make([]byte, 32)) // There is none yet.
	default:
		return tokenCaller(firstToken)
	}
}

// holdsToken reports whether clients of a role have tokens that come and go.
func holdsToken(role string) bool { return role == "keys" || role == "session" || role == "watch" }

// admin makes tokens and policies, and takes them away.
type admin struct {
	c       *client
	d       *rand.Rand
	holders []*holder
	due     []func(done func()) // what is to be mended
	mended  bool                // everybody has all rights, for good
}

// holder is a client with a token.
type holder struct {
	c        *client
	policy   string
	above    string // policy of its token's parent
	accessor []byte // of its token
	parent   []byte // accessor of its token's parent; nil: it has none
	tokens   int
}

// part draws whether something is done to a holder's token or to the parent of it, and returns the accessor and the policy of that.
func (h *holder) part(d *rand.Rand) (accessor []byte, policy string) {
	if h.parent != nil && d.IntN(2) == 0 {
		return h.parent, h.above
	}
	return h.accessor, h.policy
}

// administer begins with nothing, and lets the cluster enforce soon.
func administer(c *client) {
	if !c.w.plan.Tokens {
		return
	}
	a := &admin{c: c, d: c.w.dice("tokens")}
	for i, role := range c.w.plan.Clients {
		if holdsToken(role) {
			a.holders = append(a.holders, &holder{c: c.w.clients[i], policy: fmt.Sprintf("p%d", i), above: fmt.Sprintf("above%d", i)})
		}
	}
	a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: storev1.AuthMode_AUTH_MODE_WARN,
		Token: &storev1.TokenRecord{
			Accessor: append(make([]byte, 15), 1), TokenSha256: firstToken, Name: "first", Policies: []string{storage.AdminPolicy},
		},
	}}}, func() { a.equip(0, a.next) })
}

// change makes one change, again and again until it is answered.
func (a *admin) change(what *storev1.ChangeAuth, done func()) {
	a.c.change(&check.Op{Kind: "auth"}, &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: what}}, func(rep reply) {
		if rep.result != nil || a.c.w.silent {
			done()
			return
		}
		a.c.after(between(a.c.dice, 50*time.Millisecond, 300*time.Millisecond), func() { a.change(what, done) })
	})
}

// equip gives all holders from one on all rights and new tokens, and has the cluster enforce.
func (a *admin) equip(n int, done func()) {
	if n == len(a.holders) {
		a.mode(storev1.AuthMode_AUTH_MODE_ENFORCE, done)
		return
	}
	a.mend(a.holders[n], func() { a.equip(n+1, done) })
}

func (a *admin) mode(mode storev1.AuthMode, done func()) {
	a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: mode}}, done)
}

func (a *admin) policy(name string, v *variant, done func()) {
	a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{
		PutPolicy: &storev1.PolicyRecord{Name: name, Rules: v.rules},
	}}, done)
}

// mend gives a holder all rights and a new token.
func (a *admin) mend(h *holder, done func()) {
	a.policy(h.policy, wide, func() { a.policy(h.above, wide, func() { a.issue(h, 0, done) }) })
}

// issue gives a holder a new token, which ends after some time; zero: never. Half of them are children, which end with their parents.
func (a *admin) issue(h *holder, ends time.Duration, done func()) {
	h.tokens++
	token := func(policy string) *storev1.TokenRecord {
		return &storev1.TokenRecord{
			Accessor: a.bytes(16), TokenSha256: a.bytes(32), Name: fmt.Sprintf("%s-%d", h.c.name, h.tokens), Policies: []string{policy},
		}
	}
	record := token(h.policy)
	oldest := record
	var parent *storev1.TokenRecord
	if a.d.IntN(2) == 0 {
		parent = token(h.above)
		oldest, record.Parent = parent, parent.GetAccessor()
	}
	if ends > 0 {
		oldest.ExpireTimeMs = wallBeginMs + (a.c.w.now + ends).Milliseconds()
	}
	own := func() {
		a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: record}}, func() {
			h.accessor, h.parent = record.GetAccessor(), parent.GetAccessor()
			h.c.caller = tokenCaller(record.GetTokenSha256())
			done()
		})
	}
	if parent == nil {
		own()
		return
	}
	a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: parent}}, own)
}

func (a *admin) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(a.d.Uint32())
	}
	return b
}

// next does the next thing, a little later: mostly it takes something away, and mends it after a while.
func (a *admin) next() {
	if a.c.w.silent || a.mended {
		return
	}
	a.c.after(expo(a.d, 700*time.Millisecond), func() {
		switch {
		case a.c.w.silent:
		case a.c.w.quiet:
			a.mended = true
			a.equip(0, func() {})
		case len(a.due) > 0 && a.d.IntN(2) == 0:
			do := a.due[0]
			a.due = a.due[1:]
			do(a.next)
		default:
			a.takeAway(a.holders[a.d.IntN(len(a.holders))])
		}
	})
}

// takeAway takes rights of a holder away, in one of many ways, or replaces its token before it does.
func (a *admin) takeAway(h *holder) {
	mend := func(done func()) { a.mend(h, done) }
	lost := func() {
		a.c.w.floors.RightsTaken++
		a.due = append(a.due, mend)
		a.next()
	}
	old, policy := h.part(a.d)
	revoke := &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: old}}
	switch what := a.d.IntN(12); {
	case what < 3:
		a.change(revoke, lost)
	case what < 4: // A second token is made, and the first one is revoked.
		a.issue(h, 0, func() {
			a.change(revoke, func() {
				a.c.w.floors.RightsTaken++
				a.next()
			})
		})
	case what < 6:
		a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{RotateToken: &storev1.RotateToken{
			Accessor: old, TokenSha256: a.bytes(32),
		}}}, lost)
	case what < 9:
		a.policy(policy, narrow[a.d.IntN(len(narrow))], lost)
	case what < 10:
		a.change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: policy}}, lost)
	case what < 11:
		a.issue(h, between(a.d, 300*time.Millisecond, 4*time.Second), lost)
	default:
		a.mode(storev1.AuthMode_AUTH_MODE_WARN, func() {
			a.c.after(expo(a.d, time.Second), func() { a.mode(storev1.AuthMode_AUTH_MODE_ENFORCE, a.next) })
		})
	}
}
