// Package server serves a member: the gRPC services, REST, metrics and health, around one raftnode.Node.
//
// It promises:
//
//   - Every answer carries the revision it shows. Reads are linearizable unless they ask not to be.
//   - Every error has a gRPC code, a reason that programs can branch on, and says whether the change was applied.
//     Nothing that a client sends ends in INTERNAL, and INTERNAL tells a client nothing but where to look in the log.
//     What is no proper gRPC or HTTP the libraries refuse before, in their own words; docs/guarantees.md says what.
//   - What this version does not serve is refused with FEATURE_NOT_ENABLED, never ignored.
//   - A session's secret is compared in constant time, and neither stored nor logged.
//   - A stop ends streams with STOPPING, lets other calls end within the grace, and leaves nothing running.
//
// It needs a data directory that nobody else uses, and clocks that need not be right.
//
// A call passes the interceptors (interceptors.go), then a service: kv.go, session.go, lock.go, cluster.go, election.go,
// watch_service.go. A service validates, asks for the secret where a call acts as a session, converts, and proposes a
// command or reads a snapshot. Package reason alone makes gRPC statuses. REST (gateway.go) calls the same services over a
// connection inside the process. Packages expiry and watch hold the leader's timers and the watchers' cursors.
package server
