// Package wake lets requests that wait for the same change share its cost: one watch while they wait, one answer when they are woken, and turns
// for whatever must be read for each.
//
// A watch ends with the first event that its requests wait for, or for a reason that is about all of them, such as that their caller's rights changed. A
// request that waits on opens another one, or joins one that another request has opened. So what a watch has is of one change, and an answer that is made after it has ended is younger than every request that waited with it: all of them
// may get it.
//
// Requests share a watch only if they show the same credentials, and an answer only if they come from the same caller, too. The package does not
// know what is watched or answered.
package wake
