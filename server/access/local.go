package access

import (
	"context"

	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
)

// Local decides about a call that something else in this process serves. Nothing decides about it again, as apply does about a change: where rules are
// enforced, this member proves first that it knows which rights were taken away.
func (a *Authority) Local(ctx context.Context, caller *identity.Client, of authz.Local) error {
	if !of.Stale && !a.malformed(caller, of.Method) {
		known := a.current
		if a.enforces(of.Method, a.node.Store().Rights.Now().Mode) {
			known = a.prove
		}
		if err := known(ctx); err != nil {
			return err
		}
	}
	// What it finds under an id is as new as its rights, so nothing is proved again for that.
	as := &rare{serviceOf: of.Service, claims: of.Catalog != nil}
	g := &Grant{authority: a, caller: caller, method: of.Method, needs: of.Needs, rare: as, reads: true}
	if a.noted {
		note(ctx, g)
	}
	return g.Again(ctx)
}
