package authz

// tokenPrefix begins the principals of tokens.
const tokenPrefix = "token:"

// Rights are what a caller may do: the union of its policies, as far as what it is within allows it, too. They do not change, and may be
// shared.
type Rights struct {
	principal string
	within    *Rights // those of the token's parent; nil: it has none
	// rules are those of all policies, by kind. Those for the caller's own node are among SessionNode, too.
	rules [Any]ruleSet
	any   bool
}

// NewRights returns the rights of a principal, which is empty for an anonymous caller. Its node is that of its token or
// binding; empty: it has none.
func NewRights(principal, node string, policies ...Policy) *Rights {
	r := &Rights{principal: principal}
	r.add(node, policies)
	return r
}

// With returns rights with further policies, for a caller with several bindings. The node is that of these policies.
func (r *Rights) With(node string, policies ...Policy) *Rights {
	more := &Rights{principal: r.principal, within: r.within, any: r.any, rules: r.rules}
	more.add(node, policies)
	return more
}

// Of returns the rights of a principal with the same rules, which cost it nothing.
func (r *Rights) Of(principal string) *Rights {
	of := *r
	of.principal = principal
	return &of
}

// Within returns rights to what both these and outer allow: those of a token whose parent's policies are outer. Outer's principal is the
// token's, too, so its rules for own sessions mean those that the token made.
func (r *Rights) Within(outer *Rights) *Rights {
	both := *r
	both.within = outer
	return &both
}

// add adds policies.
func (r *Rights) add(node string, policies []Policy) {
	var more [Any][]Rule
	for _, p := range policies {
		for _, rule := range p.Rules {
			if rule.Kind == Node || rule.Kind == SessionNode {
				rule.Text = lowerASCII(rule.Text)
			}
			if rule.Kind == SessionNodeSelf {
				if node == "" {
					continue
				}
				own := Rule{Kind: SessionNode, Match: Exact, Text: lowerASCII(node), Verbs: withRead(rule)}
				more[SessionNode] = append(more[SessionNode], own)
			}
			r.any = true
			rule.Verbs = withRead(rule)
			more[rule.Kind] = append(more[rule.Kind], rule)
		}
	}
	for kind, rules := range more {
		r.rules[kind] = r.rules[kind].with(rules)
	}
}

// withRead returns the verbs of a rule, with read where write includes it.
func withRead(r Rule) Verb {
	if r.Kind != Key && r.Verbs&Write != 0 {
		return r.Verbs | Read
	}
	return r.Verbs
}

// Principal returns whose rights these are; empty for an anonymous caller.
func (r *Rights) Principal() string { return r.principal }

// Covers reports whether one of the rules meets a need, and one of those that these rights are within.
func (r *Rights) Covers(n Need) bool { return r.meets(&n) }

// CoversAll reports whether all of several needs are covered.
func (r *Rights) CoversAll(needs []Need) bool {
	for i := range needs {
		if !r.meets(&needs[i]) {
			return false
		}
	}
	return true
}

// meets is Covers for a need that is not copied: every call asks.
func (r *Rights) meets(n *Need) bool {
	for ; r != nil; r = r.within {
		if !r.covers(n) {
			return false
		}
	}
	return true
}

// covers reports whether one of the rules meets a need.
func (r *Rights) covers(n *Need) bool {
	verbs, match, text := n.Verb|n.Or, n.Match, n.Text
	switch n.Kind {
	case Any:
		return r.any
	case Session:
		return r.coversSession(n)
	case Admin:
		if n.By == ByToken && len(r.principal) == len(tokenPrefix)+len(n.ID) &&
			r.principal[:len(tokenPrefix)] == tokenPrefix && r.principal[len(tokenPrefix):] == n.ID {
			return true
		}
		if n.Maker != "" && n.Maker == r.principal {
			return true
		}
	case Service:
		if n.By == ByService || n.By == ByCheck { // It was not looked up.
			match, text = Prefix, ""
		}
	case Node:
		if n.By == ByNode { // It was not looked up.
			match, text = Prefix, ""
		}
	case Query:
		if n.By == ByQuery { // It was not looked up.
			match, text = Prefix, ""
		}
	case SessionNode, SessionNodeSelf, SessionOwn: // Of a rule, not of a message.
		if r.rules[Session].covers(n.Verb, All, "", "") {
			return true
		}
	case KindUnspecified:
		return false
	default:
	}
	return r.rules[n.Kind].covers(verbs, match, text, n.End)
}

// coversSession reports whether one of the rules about sessions meets a need.
func (r *Rights) coversSession(n *Need) bool {
	if n.Verb == 0 { // The session does not exist.
		return len(r.rules[Session])+len(r.rules[SessionNode])+len(r.rules[SessionOwn]) > 0
	}
	if n.By == BySession { // It was not looked up.
		return r.rules[Session].covers(n.Verb, Prefix, "", "")
	}
	if r.rules[Session].covers(n.Verb|n.Or, n.Match, n.Text, n.End) {
		return true
	}
	if n.Node != "" && r.rules[SessionNode].covers(n.Verb, Exact, n.Node, "") {
		return true
	}
	return r.principal != "" && n.Maker == r.principal && r.rules[SessionOwn].covers(n.Verb, All, "", "")
}

// Needs returns what a rule allows as needs, one for each verb, so that somebody can ask whether rights cover it.
func (r Rule) Needs() []Need {
	var needs []Need
	for _, known := range verbs {
		if r.Verbs&known.verb == 0 {
			continue
		}
		n := Need{Kind: r.Kind, Verb: known.verb, Match: r.Match, Text: r.Text}
		if r.Kind == Node || r.Kind == SessionNode {
			n.Text = lowerASCII(n.Text)
		}
		needs = append(needs, n)
	}
	return needs
}
