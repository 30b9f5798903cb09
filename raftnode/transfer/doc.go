// Package transfer moves a checkpoint from one member to another, as a stream of checksummed chunks.
//
// It promises: what an Inbox hands out is complete, equal to what the sender's manifest says, and on stable storage; a
// transfer that broke off goes on where it stopped, and one of a newer checkpoint brings only what the receiver does not have:
// files of the same name, size and checksum are taken from what was received before, also before a crash, and from the newest
// checkpoint of the receiver's own state; a sender is never faster than its pace.
//
// What is here counts by what its manifest says, and is read only when the snapshot is whole: a sender does not wait for
// that. A file that is not what its checksum says is dropped then, and has to be sent.
//
// It needs: a stream that keeps order.
//
// It never opens the databases inside, and never decides whether a snapshot is wanted.
package transfer
