// Package consulhttp serves Consul's HTTP API over the services of tenure.v1, for programs that use Consul for sessions,
// locks, keys and elections.
//
// It promises what clients of Consul rely on: paths, parameters, headers, JSON, statuses, and the texts that programs look
// for. Where Consul's own behavior would break a guarantee of Tenure, Tenure's stands; docs/consul.md lists these places.
//
// Every list, and every watch behind one, asks for the part that its caller may read. Requests share nothing that depends on rights unless they show the same
// credentials.
//
// It needs a connection to a member's services and nothing else of the member. It keeps no state beside the requests that
// are under way, but for two facts about the cluster that headers show: an index is a revision, and a request that blocks is a
// watch.
//
// It never polls, never redirects, never cleans a path, and never parses a body as a form. It never answers 500 to a mistake
// of the caller, because clients of Consul retry a 500.
package consulhttp
