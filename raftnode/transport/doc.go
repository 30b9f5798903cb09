// Package transport carries what members say to each other, over gRPC on the peer address.
//
// It promises:
//
//   - Send never blocks and never changes a message. Every queue has a bound; what does not fit is dropped, and the peer
//     reported unreachable, which is all that raft needs.
//   - Heartbeats, votes and read rounds have a stream of their own and do not wait behind entries; snapshots and relayed
//     calls have connections of their own and delay neither.
//   - A call that reaches the wrong member, or comes from one of another cluster, one that was removed, or one that runs
//     on an old or copied disk, is refused by a typed reason that both sides see. So is a raft message that only a member
//     itself may send.
//   - A silent connection is given up and made again, with back-off and jitter.
//   - Run returns after everything that it started has ended.
//
// It needs: callbacks that do not block, and an address book that its owner keeps (SetPeers). Messages may be lost,
// repeated and reordered between the two streams; raft takes that.
//
// It never reads the state machine or the disk, and knows nothing of terms.
package transport
