package auth

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

// endedMax is how many tokens, with those that descend from them, one command deletes before it leaves the rest.
const endedMax = 256

// End deletes tokens that ended long ago, as the leader found by clocks, with those that descend from them, which ended no later. A token that ended gives no rights, so this denies nothing:
// unlike a revocation, it does not raise the deny revision.
func (c *Change) End(e *storev1.EndTokens, term uint64) (*storev1.Result, error) {
	if err := rule.NeedVersion3(c.State.ClusterVersion); err != nil {
		return nil, err
	}
	if err := rule.CheckTerm(e.GetTerm(), term); err != nil {
		return nil, err
	}
	head, err := readHead(c.Rows)
	if err != nil || head == nil {
		return &storev1.Result{}, err
	}
	before := head.GetTokens()
	for _, ended := range e.GetTokens() {
		if before-head.GetTokens() >= endedMax {
			break // The leader finds what is left when it looks again.
		}
		record, err := readToken(c.Rows, ended.GetAccessor())
		if err != nil {
			return nil, err
		}
		if record == nil || record.GetExpireTimeMs() == 0 || record.GetExpireTimeMs() != ended.GetExpireTimeMs() {
			continue
		}
		if _, err = c.removeFamily(head, record); err != nil {
			return nil, err
		}
	}
	if head.GetTokens() == before {
		return &storev1.Result{}, nil
	}
	c.State.AuthChanges++
	return &storev1.Result{}, c.write(headRow(), head)
}
