package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

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
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_OVER_BUDGET, detail, limit, actual)
	f.Failure.LimitName, f.Failure.Limit, f.Failure.Actual = name, limit, actual
	return f
}
