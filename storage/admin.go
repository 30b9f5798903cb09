package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// endFreeze lets grants go on after a restore, and grants what waited for it.
func (c queueVerbs) endFreeze(e *storev1.EndFreeze) (*storev1.Result, error) {
	if e.GetTerm() != 0 {
		if err := c.checkTerm(e.GetTerm()); err != nil {
			return nil, err
		}
	}
	frozen, err := isFrozen(c.rows)
	if err != nil || !frozen {
		return &storev1.Result{}, err
	}
	c.rows.remove([]byte{layout.RowFreeze})
	return &storev1.Result{}, c.grantLeft()
}

// setClusterVersion raises the version in use, once every member says that it can follow. A program that cannot stops
// here, not later.
func (c memberVerbs) setClusterVersion(s *storev1.SetClusterVersion) (*storev1.Result, error) {
	if s.GetVersion() < c.state.ClusterVersion {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED,
			storev1.FailureDetail_FAILURE_DETAIL_CLUSTER_VERSION_ABOVE, c.state.ClusterVersion)
		f.Failure.Actual = uint64(c.state.ClusterVersion)
		return nil, f
	}
	all, err := members(c.rows)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if err = checkFollows(m, s.GetVersion()); err != nil {
			return nil, err
		}
	}
	if err = layout.CheckVersion(s.GetVersion()); err != nil {
		return nil, err
	}
	c.state.ClusterVersion = s.GetVersion()
	return &storev1.Result{}, nil
}
