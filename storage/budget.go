package storage

import storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"

const (
	// commandRowsMax is how many rows a command with a budget may read and write: enough for a delete by prefix of as many
	// keys as there may be, also of ephemeral ones.
	commandRowsMax = 100_000
	// commandBytesMax is how many bytes those rows may have.
	commandBytesMax = 16 << 20
)

// HasCommandBudget reports whether commands have a budget under a cluster version. Older programs do not know its limits.
func HasCommandBudget(version uint32) bool { return version >= version2 }

// meter counts the rows that a command reads and writes, with the bytes of their keys and values, and refuses what is more
// than its budget. A row that is missing, or that is deleted, counts without bytes. The meter counts what the command sees, which is the same on every member: neither deleted rows that a scan
// steps over, nor what the disk was not asked for because memory had it. A nil meter refuses nothing.
type meter struct {
	rowsMax, bytesMax uint64
	rows, bytes       uint64
}

// spend counts one row with its value. Once the budget is spent, it refuses every further row.
func (m *meter) spend(row, value []byte) error {
	if m == nil {
		return nil
	}
	m.bytes += uint64(len(row) + len(value))
	return m.spendNone()
}

// spendNone counts one row that is missing, or is deleted.
func (m *meter) spendNone() error {
	if m == nil {
		return nil
	}
	m.rows++
	return m.over()
}

// over returns the failure of a command that has spent more than its budget, or nil.
func (m *meter) over() error {
	if m == nil {
		return nil
	}
	detail, name, limit, actual := storev1.FailureDetail_FAILURE_DETAIL_ROWS_OVER_BUDGET, "command_rows_max", m.rowsMax, m.rows
	switch {
	case m.rows > m.rowsMax:
	case m.bytes > m.bytesMax:
		detail, name = storev1.FailureDetail_FAILURE_DETAIL_BYTES_OVER_BUDGET, "command_bytes_max"
		limit, actual = m.bytesMax, m.bytes
	default:
		return nil
	}
	f := broken(storev1.FailureReason_FAILURE_REASON_OVER_BUDGET, detail, limit, actual)
	f.failure.LimitName, f.failure.Limit, f.failure.Actual = name, limit, actual
	return f
}

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
		c.meter = &meter{rowsMax: uint64(limits.GetCommandRowsMax()), bytesMax: limits.GetCommandBytesMax()}
	}
	c.rows.meter = c.meter
	defer func() { c.rows.meter = nil }()
	err := do()
	if over := c.meter.over(); over != nil && (err == nil || failureOf(err) != nil) {
		return over
	}
	return err
}
