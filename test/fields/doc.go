// Package fields puts hostile values into each field of a message, for tests of bad input. It takes the fields from the message's descriptor, so that
// no test forgets a new one: Unset names the fields for which a test has no value yet.
package fields
