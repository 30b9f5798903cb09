// Package process runs a program while a lease lasts: a session, or a hold of a lock.
//
// It promises that the program has ended before the cluster can give away what it depends on, if the system lets it be killed, and
// that signals reach the program. It opens no session and takes no lock.
package process
