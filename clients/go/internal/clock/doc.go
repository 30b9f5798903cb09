// Package clock tells the time by which leases are judged: the time since some moment in the past, which never goes back
// and runs on while the machine sleeps. A lease that ran out meanwhile has run out.
package clock
