package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
)

// ClusterVersions returns the oldest and the newest cluster version that this program can follow.
func ClusterVersions() (oldest, newest uint32) { return layout.VersionMin, layout.VersionMax }

// KeepsKeys says whether an acquire may ask, under a cluster version, for a key that stays. Under an older one a key stays
// in any case, and older programs do not know the question.
func KeepsKeys(version uint32) bool { return version >= layout.Version2 }

// DropsHolds reports whether, under a cluster version, a delete may free a lock or take only the first keys of a prefix, a get
// in a transaction may demand its key, and a guard its holder. Older programs do not know these words.
func DropsHolds(version uint32) bool { return version >= layout.Version2 }

// BreaksInSteps reports whether the break of a lock with very many holders takes several commands under a cluster version. Older
// programs do not know those that go on.
func BreaksInSteps(version uint32) bool { return version >= layout.Version2 }

// KnowsJoinTokens reports whether a cluster version has join tokens, without which nobody joins.
func KnowsJoinTokens(version uint32) bool { return version >= layout.Version2 }

// CountsWaits reports whether, under a cluster version, it is counted how many calls wait on a place, so that the last one that leaves gives it up.
func CountsWaits(version uint32) bool { return version >= layout.Version3 }

// RelaysSecrets reports whether, under a cluster version, every member that relays for a session shows the hash of the secret
// that the client showed.
func RelaysSecrets(version uint32) bool { return version >= layout.Version2 }

// KnowsPrincipals reports whether, under a cluster version, commands say on whose behalf they run, and there are tokens. Older
// programs do not know what stops a command whose caller lost a right.
func KnowsPrincipals(version uint32) bool { return version >= layout.Version3 }

// KeepsPrincipal reports whether what a command leaves depends on whose it is: sessions and tokens keep who made them, and idempotency keys are each
// caller's own. Other commands need not say, which makes them shorter.
func KeepsPrincipal(c *storev1.Command) bool {
	return c.GetCreateSession() != nil || c.GetChangeAuth() != nil || len(c.GetIdempotencyKey()) > 0
}

// ProposesMany reports whether, under a cluster version, every member takes the proposals of another's clients over one stream.
func ProposesMany(version uint32) bool { return version >= layout.Version2 }

// NamesAddresses reports whether, under a cluster version, every member names its address in its calls to others.
func NamesAddresses(version uint32) bool { return version >= layout.Version2 }

// HasCommandBudget reports whether commands have a budget under a cluster version. Older programs do not know its limits.
func HasCommandBudget(version uint32) bool { return quota.HasCommandBudget(version) }

// HasLimitBounds reports whether limits have bounds under a cluster version, and are lowered below what is in use only with
// force. Older programs take any limit, and do not know the word.
func HasLimitBounds(version uint32) bool { return quota.HasLimitBounds(version) }
