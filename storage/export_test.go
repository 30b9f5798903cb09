package storage

// What the tests of package storage_test see of the inside.
var (
	FormatMessage = formatMessage
)
