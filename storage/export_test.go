package storage

// What the tests of package storage_test see of the inside.
var (
	FormatMessage = formatMessage
)

// CountBytes counts the bytes of all rows, one by one.
func (r *Reader) CountBytes() (uint64, error) { return countBytes(r.rows) }

// CheckRow checks a row as it is checked in a backup.
var CheckRow = checkRow
