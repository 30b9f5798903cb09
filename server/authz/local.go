package authz

import "context"

// Local is a call that a member does not serve itself, but something else in its process, such as the agent of the machine.
type Local struct {
	// Method is the full name of the call.
	Method string
	// Needs are what its caller needs; there is at least one.
	Needs []Need
	// Service returns the name of the service of a need that names an instance or a check by its id; empty: whoever serves the call has no
	// such entry, or it is a check of a node.
	Service func(Need) string
	// Catalog returns what the catalog has where Service has nothing, for a call after which whoever serves it takes the entry for its own. A member
	// looks itself. nil: what the catalog has does not matter.
	Catalog func(context.Context, Need) (string, error)
	// Stale says that the call is decided about by what this member has, however old that is.
	Stale bool
}
