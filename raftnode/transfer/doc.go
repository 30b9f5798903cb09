// Package transfer moves a checkpoint from one member to another, as a stream of checksummed chunks.
//
// It promises: what an Inbox hands out is complete, equal to what the sender's manifest says, and on stable storage; a
// transfer that broke off goes on where it stopped, as long as the sender has the same checkpoint and the receiver was
// not restarted; a sender is never faster than its pace.
//
// It needs: a stream that keeps order. What a crash leaves in the directory of an Inbox is removed by its owner.
//
// It never opens the databases inside, and never decides whether a snapshot is wanted.
package transfer
