// Package lock is the commands about locks and elections: queueing, running a program while a lock is held, and showing who holds what and
// who waits for whom.
package lock
