// Package records reads what the rows of a store say of keys, locks, sessions, request windows and limits, through a snapshot or through
// the overlay of an Apply. It writes nothing.
package records
