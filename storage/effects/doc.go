// Package effects tells by the text of a command, before it runs, what it may change: whether it only reads, whether it makes the state grow, and
// which keys, locks and entries of the catalog a transaction changes.
package effects
