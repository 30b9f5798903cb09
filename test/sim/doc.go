// Package sim runs a whole cluster and its clients on one goroutine in virtual time, breaks what can break, and checks
// what everybody saw.
//
// A seed says everything: how many members there are, what clients do, which faults come when, how long each message and
// each write takes, what raft draws. The same seed gives the same run and the same trace hash. It is expanded to a Plan,
// which may be written down, made smaller and run again.
//
// The members are the product's own code: the turns of raftnode/turn over core.Core with its Appender and Applier, raftlog
// and storage on Pebble (on a file system in memory that forgets what was not synced), envelope.Queue, membership, identity,
// the timers of server/expiry and the watches of server/watch. What the product does on goroutines this package does with an
// event heap. Changes and renewals go to the leader as in the product: leader.Journey, proposals.Ledger and Desk, and renewal/core
// decide what becomes of each. What opens a member's disk and installs snapshots on it follows raftnode step by step, and is not
// the product's.
//
// Each run ends with a phase in which everything works again. There the cluster has to make progress, all members must
// come to one state, and once the clients fall silent everything they had must be free. Then package check has its say.
package sim
