package access

import (
	"context"
	"slices"

	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
)

// Sight is what one caller sees by the rights that it had when a call was decided about. It does not change, whatever becomes of the rights, and any
// goroutine may ask it.
type Sight struct {
	who *Who
	// enforced says that the caller sees no more than this; else it sees all, and what it would not see is only counted.
	enforced bool
}

// Sight returns what the caller of a call sees, by its rights at the last decision; nil: all that the call asks for. That is so where rules are not
// enforced, for a call that did not ask to be shown no more than its caller sees, and for one whose caller has all rights for all that it asks for.
// What a call shows that reads a snapshot is known once it has the snapshot: see At. A stream must ask once and keep the answer, because its
// grant is decided about again and again.
func (g *Grant) Sight() *Sight {
	if g == nil || !g.inPart {
		return nil
	}
	if s := g.sight.Load(); s != nil && s.enforced {
		return s
	}
	return nil
}

// Covers reports whether the caller has a right.
func (s *Sight) Covers(need authz.Need) bool { return s.who.Covers(need) }

// SeesBeyondNames reports whether the caller may see sessions by more than their names: see authz.Rights.
func (s *Sight) SeesBeyondNames() bool { return s.who.rights.SeesBeyondNames() }

// Spans returns which names of a kind the caller sees below a prefix: see authz.Rights. A caller without rights sees none.
func (s *Sight) Spans(kind authz.Kind, verbs authz.Verb, prefix string) []authz.Span {
	if s.who.rights == nil {
		return nil
	}
	return s.who.rights.Spans(kind, verbs, prefix)
}

// isInPart reports whether one of several needs may be met in part.
func isInPart(needs []authz.Need) bool {
	return slices.ContainsFunc(needs, func(n authz.Need) bool { return n.Part })
}

// see notes what the caller sees by a decision: all, unless it lacks something that may be met in part.
func (g *Grant) see(who *Who, at storage.Applied, lacks bool) {
	if !g.inPart {
		return
	}
	if !lacks {
		g.sight.Store(nil)
		return
	}
	a := g.authority
	enforced := a.enforces(g.method, at.AuthMode) || a.enforces(g.method, a.node.Store().Rights.Now().Mode)
	g.sight.Store(&Sight{who: who, enforced: enforced})
}

// seenAfresh decides again, by what the cluster has, about a call that reads no snapshot and shows only a part of what it asks for: as before a denial, it
// may be that the member lags. One that cannot ask goes on by what it has, and one whose caller is shown all whatever the cluster has need not ask.
func (g *Grant) seenAfresh(ctx context.Context, at uint64) error {
	if g.Sight() == nil {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, ProofTimeout)
	defer cancel()
	err := g.authority.proveUntil(short, ctx)
	switch {
	case err == nil:
		err = g.afresh(ctx, at, nil)
	case ctx.Err() == nil:
		err = nil
	}
	return g.waited(err)
}

// countParts counts, once for a message, that its caller would be shown only a part if rules were enforced.
func (g *Grant) countParts() {
	if !g.inPart {
		return
	}
	if s := g.sight.Load(); s != nil && !s.enforced {
		g.countWouldDeny()
	}
}

// countWouldDeny counts, once for a message, that it is served only because of the mode.
func (g *Grant) countWouldDeny() {
	if !g.wouldDeny.Swap(true) {
		g.authority.metrics.wouldDeny.Inc()
	}
}
