// Package query serves QueryService: prepared queries, what their texts mean, and what they select.
//
// It promises that a query which apply would refuse is refused with the name of the field that is at fault, that a stored query can
// be run, and that what one run returns is of one revision. How much one run reads is bounded.
package query
