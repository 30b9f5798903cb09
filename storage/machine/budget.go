package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// withinBudget does a part of the command that anybody can make as dear as he likes, and refuses it once it has read and
// written more than a command may. All such parts of a command share one budget. Under version 1 there is none.
func (c *command) withinBudget(do func() error) error {
	if !quota.HasCommandBudget(c.state.ClusterVersion) {
		return do()
	}
	if c.meter == nil {
		limits, err := c.effectiveLimits() // First: whether it reads a row is for the batch to know.
		if err != nil {
			return err
		}
		c.meter = &table.Meter{RowsMax: uint64(limits.GetCommandRowsMax()), BytesMax: limits.GetCommandBytesMax()}
	}
	c.rows.Meter = c.meter
	defer func() { c.rows.Meter = nil }()
	err := do()
	if over := c.meter.Over(); over != nil && (err == nil || rule.Of(err) != nil) {
		return over
	}
	return err
}

// needSpace refuses what makes the state grow once the store has reached the part of its limit that is for growth. It
// looks at the state as the command has left it so far, so a transaction may first delete and then put.
func (c *command) needSpace() error {
	limits, err := c.effectiveLimits()
	if err != nil || c.rows.Bytes < quota.GrowthBytesMax(limits) {
		return err
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_STORE_FULL,
		storev1.FailureDetail_FAILURE_DETAIL_STORE_IS_FULL, c.rows.Bytes, quota.GrowthBytesMax(limits))
	f.Failure.LimitName = "store_bytes_max"
	f.Failure.Limit = limits.GetStoreBytesMax()
	f.Failure.Actual = c.rows.Bytes
	return f
}

// needSpaceFor is needSpace for a value that comes with the release of a lock, which goes on in a full store: a value
// that is no longer than the one before needs no space.
func (c *command) needSpaceFor(old keyFacts, value []byte) error {
	if len(value) <= old.valueBytes {
		return nil
	}
	return c.needSpace()
}
