// Package envelope gathers commands into the entries of the raft log, and brings the results back to those who wait.
//
// It promises: commands enter the log in the order they were added; a caller gets the result of his own command, or an
// error. An error that is not ErrOutcomeUnknown means that the command was not applied and never will be.
//
// It needs: outcomes in the order of the log, and to be told of entries that did not enter it, of terms, and of
// snapshots that replaced entries. All methods may be called from any goroutine.
//
// It never waits.
package envelope
