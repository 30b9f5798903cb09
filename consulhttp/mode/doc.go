// Package mode remembers in which mode the cluster is, for a header of every read over Consul's HTTP.
//
// The mode is the same for all callers, so one call asks for it at a time, and what it is told holds for a while. A call that nobody answers is not
// made again for as long. One that is refused for what it shows of its caller keeps no other caller from asking.
package mode
