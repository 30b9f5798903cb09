// Package sim runs a whole cluster and its clients on one goroutine in virtual time, breaks what can break, and checks
// what everybody saw.
//
// A seed says everything: how many members there are, what clients do, which faults come when, how long each message and
// each write takes, what raft draws. The same seed gives the same run and the same trace hash. It is expanded to a Plan,
// which may be written down, made smaller and run again.
//
// The members are the product's own code: core.Core with its Appender and Applier over raftlog and storage on Pebble (on
// a file system in memory that forgets what was not synced), envelope.Queue, the timers of server/expiry and the watches
// of server/watch. What the product does on goroutines this package does with an event heap; that glue follows
// raftnode and server step by step and is not itself the product's.
//
// Each run ends with a phase in which everything works again. There the cluster has to make progress, all members must
// come to one state, and once the clients fall silent everything they had must be free. Then package check has its say.
package sim
