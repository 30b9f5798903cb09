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
// The package puts a member together from rooms, wires them, runs them and stops them. A room imports only rooms below it:
//
//	rest                 REST over a connection inside the process
//	service, cluster     what clients and operators call, one type a service; what a member does for others
//	renewal              sessions are renewed: one for clients and for other members
//	selection            what a watch selects, and its tokens
//	relayed              what another member may relay
//	call                 what all services share
//	leader               what only the leader can do
//	gate                 what every call passes
//	reason               errors, and the one table of what each reason means
//	expiry, watch, compaction, descriptor, acting, share, frames, unread
//
// A call passes the gate, then a service. REST calls the same services over a connection inside the process.
package server
