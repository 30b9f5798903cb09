// Package audit writes down who did what, a line of JSON each: calls that were refused, changes, what operators did, and, if asked to,
// reads.
//
// It promises that a line is queued before its call is answered, that lines have rising numbers without a gap unless lines were
// lost, that lost lines are counted, and that no line has a value, a secret, the text of a token, the metadata of a session or an
// idempotency key. With refuse, a change whose line would be lost is not made. It does not sync: a machine that loses its power may
// lose the last lines.
//
// It needs the decision about each call, and knows no service.
package audit
