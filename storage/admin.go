package storage

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// clusterVersionMin and clusterVersionMax are the oldest and the newest cluster version that this program can follow.
const clusterVersionMin, clusterVersionMax = 1, 1

// ClusterVersions returns the oldest and the newest cluster version that this program can follow.
func ClusterVersions() (oldest, newest uint32) { return clusterVersionMin, clusterVersionMax }

// setLimits changes the replicated limits that are given; zero sets one back to its default. A higher limit of holders
// lets waiters in at once.
func (c *command) setLimits(s *storev1.SetLimits) (*storev1.Result, error) {
	if s.GetLimits().GetSessionObjectsMax() > endObjectsMax {
		return nil, invalid(fmt.Sprintf("session_objects_max is more than the %d that one command can end", endObjectsMax))
	}
	if s.GetLimits().GetHistoryMs() < 0 {
		return nil, invalid("history_ms is negative")
	}
	before, err := c.effectiveLimits()
	if err != nil {
		return nil, err
	}
	r := &storev1.LimitsRecord{}
	value, ok, err := c.rows.get([]byte{rowLimits})
	if err != nil {
		return nil, err
	}
	if ok {
		if err = decode(value, r); err != nil {
			return nil, fmt.Errorf("limits: %w", err)
		}
	}
	r.FormatVersion = recordFormat
	if r.GetLimits() == nil {
		r.Limits = &storev1.Limits{}
	}
	proto.Merge(r.GetLimits(), s.GetLimits())
	dropZeros(r.GetLimits().ProtoReflect())
	if value, err = encode(r); err != nil {
		return nil, err
	}
	c.rows.set([]byte{rowLimits}, value)
	c.limits = nil
	after, err := c.effectiveLimits()
	if err != nil || after.GetHoldersMax() <= before.GetHoldersMax() {
		return &storev1.Result{}, err
	}
	return &storev1.Result{}, c.holdersRaised()
}

// dropZeros unsets all limits that are zero.
func dropZeros(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if m.Has(f) && m.Get(f).Equal(f.Default()) {
			m.Clear(f)
		}
	}
}

// checkVersion refuses a state of a cluster version that this program cannot follow.
func checkVersion(version uint32) error {
	if version < clusterVersionMin || version > clusterVersionMax {
		return fmt.Errorf("%w: cluster version %d; this program follows %d to %d",
			ErrUnknownFormat, version, clusterVersionMin, clusterVersionMax)
	}
	return nil
}

// setClusterVersion raises the version in use, once every member says that it can follow. A program that cannot stops
// here, not later.
func (c *command) setClusterVersion(s *storev1.SetClusterVersion) (*storev1.Result, error) {
	if s.GetVersion() < c.state.ClusterVersion {
		f := broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED,
			fmt.Sprintf("cluster version is %d already", c.state.ClusterVersion))
		f.failure.Actual = uint64(c.state.ClusterVersion)
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
	if err = checkVersion(s.GetVersion()); err != nil {
		return nil, err
	}
	c.state.ClusterVersion = s.GetVersion()
	return &storev1.Result{}, nil
}

// endFreeze lets grants go on after a restore, and grants what waited for it.
func (c *command) endFreeze(e *storev1.EndFreeze) (*storev1.Result, error) {
	if e.GetTerm() != 0 {
		if err := c.checkTerm(e.GetTerm()); err != nil {
			return nil, err
		}
	}
	frozen, err := isFrozen(c.rows)
	if err != nil || !frozen {
		return &storev1.Result{}, err
	}
	c.rows.remove([]byte{rowFreeze})
	return &storev1.Result{}, c.grantLeft()
}
