package access

import (
	"context"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

const (
	// ordersAgainMax is how often a change is ordered again because rights were taken away in the meantime.
	ordersAgainMax = 5
	// rightsAgainMax is the same for a change of rights: of those that take some away through different members at the same time, one a tenth of a
	// second is made, and the others are decided about again.
	rightsAgainMax = 100
)

// Authorised returns on whose behalf a call runs at a member whose rights are at, and one more than the deny revision at which it was
// allowed. An error says that it began before rights were asked for.
func Authorised(ctx context.Context, at storage.RightsState) (principal string, below uint64, err error) {
	switch grant := Of(ctx); {
	case grant != nil:
		return grant.Principal(), grant.Under() + 1, nil
	case at.Mode > storev1.AuthMode_AUTH_MODE_OFF:
		return "", 0, errChanged()
	default:
		return "", at.DenyRevision + 1, nil
	}
}

// Findings returns what was found under ids that the message of a call names, and decided that it is allowed: its change is good as long as nothing
// else is there.
func Findings(ctx context.Context) []*storev1.Finding {
	grant := Of(ctx)
	if grant == nil {
		return nil
	}
	if found := grant.found.Load(); found != nil {
		return found.found
	}
	return nil
}

// Ordered has a change ordered under the rights that its caller has now, at the member with this store. A change that meets rights that
// were taken away in the meantime, or something else under an id than was found, is decided about again, a few times. order proposes it as
// Authorised and Findings say; an error beside a result that is outdated says that an earlier attempt may have been applied. Then nobody is told
// that nothing was.
func Ordered(
	ctx context.Context, store func() *storage.Store, order func(principal string, below uint64) (*storev1.Result, error),
) (*storev1.Result, error) {
	most := ordersAgainMax
	if grant := Of(ctx); grant != nil && strings.HasPrefix(grant.method, authPrefix) {
		most = rightsAgainMax
	}
	var doubt error
	for attempt := 1; ; attempt++ {
		principal, below, err := Authorised(ctx, store().Rights.Now())
		if err != nil {
			return nil, reason.InDoubt(doubt, err)
		}
		result, err := order(principal, below)
		if !storage.IsOutdated(result) {
			return result, reason.InDoubt(doubt, err)
		}
		if err != nil {
			doubt = err
		}
		if attempt > most {
			return result, doubt
		}
		if grant := Of(ctx); grant != nil {
			if err = grant.Again(ctx); err != nil {
				return nil, reason.InDoubt(doubt, err)
			}
		}
	}
}

// AllowedStill refuses what was allowed before rights were taken away, at a member whose rights are at. below is as Authorised returned
// it, perhaps at another member; zero is older than any.
func AllowedStill(at storage.RightsState, below uint64) error {
	if at.DenyRevision >= max(below, 1) {
		return errChanged()
	}
	return nil
}
