package storage

import (
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// withinBudget does a part of the command that anybody can make as dear as he likes, and refuses it once it has read and
// written more than a command may. All such parts of a command share one budget. Under version 1 there is none.
func (c *command) withinBudget(do func() error) error {
	if !HasCommandBudget(c.state.ClusterVersion) {
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
