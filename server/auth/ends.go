package auth

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

const (
	// soonMost is how long before its end a token is called one that ends soon; for one with a short life it is a third of that.
	soonMost = 14 * 24 * time.Hour
	// lookEvery is how often all tokens are looked at, if somebody asks.
	lookEvery = time.Minute
	// lookPage is how many are read at a time.
	lookPage = 1000
)

// Names of problems.
const (
	// ProblemTokenExpires means that tokens end soon.
	ProblemTokenExpires = "token-expires"
	// ProblemLastAdminExpires means that soon, or already, there is no caller that may change tokens.
	ProblemLastAdminExpires = "last-admin-expires"
)

// EndsOptions are what Ends needs.
type EndsOptions struct {
	// Store is the state machine.
	Store func() *storage.Store
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Now is the wall clock; nil is the machine's.
	Now func() time.Time
}

// Ends knows which tokens end soon. Any goroutine may use it.
type Ends struct {
	store func() *storage.Store
	now   func() time.Time

	mu     sync.Mutex // guards what follows
	looked time.Time
	found  found
}

// found is what a look at all tokens found.
type found struct {
	soon  int                  // tokens that end soon
	first *storev1.TokenRecord // the one of them that ends first
	// adminEndMs is when the last caller's right to change tokens ends, in milliseconds since the Unix epoch; zero: never, or there was
	// no bootstrap.
	adminEndMs int64
}

// NewEnds returns what knows which tokens end soon, and registers its metrics.
func NewEnds(o EndsOptions) (*Ends, error) {
	e := &Ends{store: o.Store, now: o.Now}
	if e.now == nil {
		e.now = time.Now
	}
	gauge := func(name, help string, value func(found) float64) error {
		return o.Registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			f, err := e.look()
			if err != nil {
				return 0
			}
			return value(f)
		}))
	}
	return e, errors.Join(
		gauge("tenure_auth_tokens_expiring", "Tokens that end within two weeks, or are in the last third of a shorter life.",
			func(f found) float64 { return float64(f.soon) }),
		gauge("tenure_auth_last_admin_end_seconds", "When the last caller's right to change tokens ends, in seconds since the Unix epoch; 0: never.",
			func(f found) float64 { return float64(f.adminEndMs) / 1000 }),
	)
}

// Problem is something that an operator should look at.
type Problem struct{ Name, Message string }

// Problems returns what an operator should know of the ends of tokens.
func (e *Ends) Problems() ([]Problem, error) {
	f, err := e.look()
	if err != nil {
		return nil, err
	}
	var all []Problem
	if end := time.UnixMilli(f.adminEndMs); f.adminEndMs != 0 && e.now().Add(soonMost).After(end) {
		all = append(all, Problem{ProblemLastAdminExpires, fmt.Sprintf(
			"from %s on, no token that has not ended may change tokens and policies: make another one", end.UTC().Format(time.RFC3339))})
	}
	if f.first != nil {
		all = append(all, Problem{ProblemTokenExpires, fmt.Sprintf("%s soon, the first at %s: %s, %s", tokensEnd(f.soon),
			time.UnixMilli(f.first.GetExpireTimeMs()).UTC().Format(time.RFC3339), f.first.GetName(), call.SessionText(f.first.GetAccessor()))})
	}
	return all, nil
}

// look looks at all tokens, unless that was done a short time ago.
func (e *Ends) look() (found, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now(); e.looked.IsZero() || now.Sub(e.looked) >= lookEvery {
		s := e.store().NewReader()
		f, err := lookAt(s, now)
		if err = errors.Join(err, s.Close()); err != nil {
			return found{}, err
		}
		e.looked, e.found = now, f
	}
	return e.found, nil
}

// lookAt looks at all tokens of a snapshot.
func lookAt(s *storage.Reader, now time.Time) (f found, err error) {
	head, err := s.AuthHead()
	if err != nil || head == nil {
		return found{}, err
	}
	admins := admins{s: s, known: map[string]bool{}}
	forever, err := admins.bound()
	if err != nil {
		return found{}, err
	}
	f.adminEndMs = 1 // Long ago, unless there is one.
	for after := ""; ; {
		tokens, err := s.Tokens(after, lookPage)
		if err != nil {
			return found{}, err
		}
		for _, t := range tokens {
			admin, err := admins.holds(t)
			if err != nil {
				return found{}, err
			}
			forever = forever || admin && t.GetExpireTimeMs() == 0
			f.add(t, admin, now)
		}
		if len(tokens) < lookPage {
			break
		}
		after = string(tokens[len(tokens)-1].GetAccessor())
	}
	if forever {
		f.adminEndMs = 0
	}
	return f, nil
}

// add adds a token to what was found.
func (f *found) add(t *storev1.TokenRecord, admin bool, now time.Time) {
	if admin {
		f.adminEndMs = max(f.adminEndMs, t.GetExpireTimeMs())
	}
	if !endsSoon(t, now) {
		return
	}
	f.soon++
	if f.first == nil || t.GetExpireTimeMs() < f.first.GetExpireTimeMs() {
		f.first = t
	}
}

// endsSoon reports whether a token ends soon. One that has ended does not.
func endsSoon(t *storev1.TokenRecord, now time.Time) bool {
	if t.GetExpireTimeMs() == 0 {
		return false
	}
	end := time.UnixMilli(t.GetExpireTimeMs())
	return now.Before(end) && end.Sub(now) < min(soonMost, end.Sub(time.UnixMilli(t.GetCreateTimeMs()))/3)
}

// admins knows which policies allow tokens to be changed.
type admins struct {
	s     *storage.Reader
	known map[string]bool
}

// any reports whether one of some policies does.
func (a admins) any(policies []string) (bool, error) {
	for _, name := range policies {
		admin, known := a.known[name]
		if !known {
			text, _, err := a.s.Policy(name)
			if err != nil {
				return false, err
			}
			policy, failed := authz.ParsePolicy(text)
			admin = name == storage.AdminPolicy ||
				failed == nil && authz.NewRights("", "", policy).Covers(authz.Need{Kind: authz.Admin, Verb: authz.Write})
			a.known[name] = admin
		}
		if admin {
			return true, nil
		}
	}
	return false, nil
}

// holds reports whether a token may change tokens: it and all from which it descends have such a policy.
func (a admins) holds(t *storev1.TokenRecord) (bool, error) {
	for t != nil {
		if admin, err := a.any(t.GetPolicies()); err != nil || !admin || len(t.GetParent()) == 0 {
			return admin, err
		}
		var err error
		if t, err = a.s.Token(t.GetParent()); err != nil {
			return false, err
		}
	}
	return false, nil
}

// bound reports whether a binding gives such a policy, to clients whose certificates are renewed.
func (a admins) bound() (bool, error) {
	bindings, err := a.s.Bindings("", int(^uint(0)>>1))
	if err != nil {
		return false, err
	}
	for _, b := range bindings {
		if admin, err := a.any(b.GetPolicies()); err != nil || admin {
			return admin, err
		}
	}
	return false, nil
}

// tokensEnd says that so many tokens end.
func tokensEnd(n int) string {
	if n == 1 {
		return "1 token ends"
	}
	return fmt.Sprintf("%d tokens end", n)
}
