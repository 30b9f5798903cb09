package machine

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// endFreeze lets grants go on after a restore, and grants what waited for it.
func (c queueVerbs) endFreeze(e *storev1.EndFreeze) (*storev1.Result, error) {
	if e.GetTerm() != 0 {
		if err := c.checkTerm(e.GetTerm()); err != nil {
			return nil, err
		}
	}
	frozen, err := records.IsFrozen(c.rows)
	if err != nil || !frozen {
		return &storev1.Result{}, err
	}
	c.rows.Remove([]byte{layout.RowFreeze})
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
	all, err := members.All(c.rows)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if err = members.CheckFollows(m, s.GetVersion()); err != nil {
			return nil, err
		}
	}
	if err = layout.CheckVersion(s.GetVersion()); err != nil {
		return nil, err
	}
	c.state.ClusterVersion, c.membersChanged = s.GetVersion(), true // Records may hold more now.
	return &storev1.Result{}, nil
}

// setLimits changes the replicated limits that are given; zero sets one back to its default. A higher limit of holders
// lets waiters in at once.
func (c memberVerbs) setLimits(s *storev1.SetLimits) (*storev1.Result, error) {
	if err := quota.Check(s.GetLimits(), c.state.ClusterVersion); err != nil {
		return nil, err
	}
	before, err := c.effectiveLimits()
	if err != nil {
		return nil, err
	}
	set, err := records.LimitsSet(c.rows)
	if err != nil {
		return nil, err
	}
	if set == nil {
		set = &storev1.Limits{}
	}
	proto.Merge(set, s.GetLimits())
	quota.DropZeros(set.ProtoReflect())
	after := quota.InForce(set)
	if quota.HasLimitBounds(c.state.ClusterVersion) && !s.GetForce() {
		for _, u := range quota.Uses(&c.state, c.rows.Bytes) {
			if err = u.Check(before, after); err != nil {
				return nil, err
			}
		}
	}
	value, err := layout.Encode(&storev1.LimitsRecord{FormatVersion: layout.RecordFormat, Limits: set})
	if err != nil {
		return nil, err
	}
	c.rows.Set([]byte{layout.RowLimits}, value)
	c.limits = nil
	c.limitsChanged = true
	if after.GetHoldersMax() <= before.GetHoldersMax() {
		return &storev1.Result{}, nil
	}
	return &storev1.Result{}, c.queue.holdersRaised()
}

// change does something to the members, and notes whether a record of one was written.
func (c memberVerbs) change(do func(m *members.Change) (*storev1.Result, error)) (*storev1.Result, error) {
	m := &members.Change{Rows: c.rows, ClusterVersion: c.state.ClusterVersion, Term: c.term, WallMs: c.wallMs}
	result, err := do(m)
	c.membersChanged = c.membersChanged || m.Changed
	return result, err
}
