package storage

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// setLimits changes the replicated limits that are given; zero sets one back to its default. A higher limit of holders
// lets waiters in at once.
func (c *command) setLimits(s *storev1.SetLimits) (*storev1.Result, error) {
	if s.GetLimits().GetSessionObjectsMax() > sessionObjectsMax {
		return nil, invalid(storev1.FailureDetail_FAILURE_DETAIL_SESSION_OBJECTS_TOO_MANY, sessionObjectsMax)
	}
	if s.GetLimits().GetHistoryMs() < 0 {
		return nil, invalid(storev1.FailureDetail_FAILURE_DETAIL_NEGATIVE_HISTORY)
	}
	if err := c.checkBudgetLimits(s.GetLimits()); err != nil {
		return nil, err
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
	c.limitsChanged = true
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
