package access

import (
	"encoding/binary"
	"slices"
	"sync"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
)

const (
	// textsBytesMax is how long the policies may be that are remembered. At it, all are forgotten.
	textsBytesMax = 8 << 20
	// unionsRulesMax is how many rules the unions may have that are remembered. At it, all are forgotten.
	unionsRulesMax = 1 << 18
)

// policies remembers what policies say and what several allow together. All callers are looked up again after any change of tokens, policies and bindings:
// those whose own are as they were read none of them again, and those with the same policies share their rules.
type policies struct {
	mu     sync.Mutex // guards what follows
	parsed map[string]*parsed
	bytes  int // of the texts of parsed
	// unions are rights of nobody, by what they are the union of.
	unions map[string]*authz.Rights
	rules  int // of unions
	// drawn is how many policies were parsed; their numbers.
	drawn uint64
	bound bound
}

// parsed is a policy. Only as of which state it is changes.
type parsed struct {
	at     asOf
	text   string
	policy authz.Policy
	// number is its own, whatever policy had its name before; zero: it is missing, or this version cannot read it.
	number uint64
	// self says that it has rules about the caller's own node.
	self bool
}

// bound are all bindings of a state.
type bound struct {
	at  asOf
	all []*storev1.BindingRecord
}

// rightsOf returns the union of what policies allow, in a snapshot of a state. One that is missing, or that this version cannot read, allows nothing.
func (p *policies) rightsOf(s *storage.Reader, at asOf, principal string, grants []grantOf) (*authz.Rights, error) {
	var room [64]byte
	name, rules := room[:0], 0
	all := make([][]authz.Policy, len(grants))
	for i, g := range grants {
		self := false
		for _, of := range g.policies {
			one, err := p.get(s, at, of)
			if err != nil {
				return nil, err
			}
			if one.number != 0 {
				name = binary.AppendUvarint(name, one.number)
				rules += len(one.policy.Rules)
				all[i] = append(all[i], one.policy)
				self = self || one.self
			}
		}
		name = append(name, 0) // No policy has this number.
		if self {
			name = append(binary.AppendUvarint(name, uint64(len(g.node))), g.node...)
		} else {
			name = append(name, 0)
		}
	}
	p.mu.Lock()
	union := p.unions[string(name)]
	p.mu.Unlock()
	if union == nil {
		union = authz.NewRights("", "")
		for i, g := range grants {
			union = union.With(g.node, all[i]...)
		}
		p.keep(string(name), union, rules)
	}
	return union.Of(principal), nil
}

// keep remembers a union of so many rules.
func (p *policies) keep(name string, union *authz.Rights, rules int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unions == nil || p.rules+rules > unionsRulesMax || len(p.unions) >= knownMax {
		p.unions, p.rules = map[string]*authz.Rights{}, 0
	}
	p.unions[name] = union
	p.rules += rules
}

// get returns a policy in a snapshot of a state.
func (p *policies) get(s *storage.Reader, at asOf, name string) (parsed, error) {
	p.mu.Lock()
	if known := p.parsed[name]; known != nil && known.at == at {
		defer p.mu.Unlock()
		return *known, nil
	}
	p.mu.Unlock()
	if name == storage.AdminPolicy {
		return p.put(at, name, "", func() (authz.Policy, error) { return authz.AdminPolicy(), nil }), nil
	}
	text, found, err := s.Policy(name)
	if err != nil || !found {
		return parsed{}, err
	}
	return p.put(at, name, text, func() (authz.Policy, error) { return authz.ParsePolicy(text) }), nil
}

// put remembers a policy as of a state, and returns it. It is parsed unless its text is as before.
func (p *policies) put(at asOf, name, text string, parse func() (authz.Policy, error)) parsed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.parsed[name]; known != nil && known.text == text {
		known.at = at
		return *known
	}
	one := &parsed{at: at, text: text}
	policy, err := parse()
	if err == nil {
		p.drawn++
		one.policy, one.number = policy, p.drawn
		one.self = slices.ContainsFunc(policy.Rules, func(r authz.Rule) bool { return r.Kind == authz.SessionNodeSelf })
	}
	if known := p.parsed[name]; known != nil {
		p.bytes -= len(known.text)
	}
	if p.parsed == nil || p.bytes+len(text) > textsBytesMax {
		p.parsed, p.bytes = map[string]*parsed{}, 0
	}
	p.parsed[name] = one
	p.bytes += len(text)
	return *one
}

// bindings returns all bindings in a snapshot of a state.
func (p *policies) bindings(s *storage.Reader, at asOf) ([]*storev1.BindingRecord, error) {
	p.mu.Lock()
	known := p.bound
	p.mu.Unlock()
	if known.at == at && known.all != nil {
		return known.all, nil
	}
	all, err := s.Bindings("", int(^uint(0)>>1))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.bound = bound{at, all}
	p.mu.Unlock()
	return all, nil
}
