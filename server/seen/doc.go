// Package seen has what a watch shows: the initial state of what it selects, and its events.
//
// It promises that a caller with a sight is shown what it sees and nothing else: no key, session, node, instance, check or query that the sight
// does not cover, and not that there is one. What it saw and sees no longer, because it has another service or another name now, it is shown as
// deleted. A watch whose caller sees all that it selects has no sight and costs what it did.
package seen
