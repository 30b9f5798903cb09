package table

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

// Meter counts the rows that a command reads and writes, with the bytes of their keys and values, and refuses what is more
// than its budget. A row that is missing, or that is deleted, counts without bytes. The meter counts what the command sees, which is the same on every member: neither deleted rows that a scan
// steps over, nor what the disk was not asked for because memory had it. A nil meter refuses nothing.
type Meter struct {
	RowsMax, BytesMax uint64
	Rows, Bytes       uint64
}

// spend counts one row with its value. Once the budget is spent, it refuses every further row.
func (m *Meter) spend(row, value []byte) error {
	if m == nil {
		return nil
	}
	m.Bytes += uint64(len(row) + len(value))
	return m.spendNone()
}

// spendNone counts one row that is missing, or is deleted.
func (m *Meter) spendNone() error {
	if m == nil {
		return nil
	}
	m.Rows++
	return m.Over()
}

// Over returns the failure of a command that has spent more than its budget, or nil.
func (m *Meter) Over() error {
	if m == nil {
		return nil
	}
	detail, name, limit, actual := storev1.FailureDetail_FAILURE_DETAIL_ROWS_OVER_BUDGET, "command_rows_max", m.RowsMax, m.Rows
	switch {
	case m.Rows > m.RowsMax:
	case m.Bytes > m.BytesMax:
		detail, name = storev1.FailureDetail_FAILURE_DETAIL_BYTES_OVER_BUDGET, "command_bytes_max"
		limit, actual = m.BytesMax, m.Bytes
	default:
		return nil
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_OVER_BUDGET, detail, limit, actual)
	f.Failure.LimitName, f.Failure.Limit, f.Failure.Actual = name, limit, actual
	return f
}
