package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/requests"
)

// compact forgets history at or below a revision, and what is remembered above the limits.
func (c memoryVerbs) compact(m *storev1.Compact) (*storev1.Result, error) {
	more, err := c.history().Compact(m)
	if err != nil {
		return nil, err
	}
	excess, err := c.compactMemory()
	if err != nil {
		return nil, err
	}
	return &storev1.Result{Kind: &storev1.Result_Compact{Compact: &storev1.CompactResult{
		CompactedRevision: c.state.CompactedRevision,
		More:              more || excess,
	}}}, nil
}

// compactMemory forgets request windows that were over when history was forgotten last, and what is above the limits. It reports
// whether it left some.
func (c memoryVerbs) compactMemory() (more bool, err error) {
	if c.state.ClusterVersion < layout.Version2 {
		_, more, err = c.keeper.DropTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), requests.TombstonesDroppedMax1)
		return more, err
	}
	windows := requests.ForgetStint()
	parts := []func() (bool, error){
		func() (bool, error) {
			return c.keeper.ForgetTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), 0, windows)
		},
		func() (bool, error) { return c.keeper.ForgetTombstonesAbove(windows) },
		func() (bool, error) { return c.sessions.forgetEnded(requests.ForgetStint()) },
		func() (bool, error) { return c.keeper.ForgetKeyed(requests.ForgetStint()) },
	}
	for _, part := range parts {
		left, err := part()
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}
