// Package antientropy keeps the catalog like an agent: it writes what the agent has and the catalog has not, and deletes
// what the agent registered once and no longer has. It leaves alone what other calls registered. One goroutine makes all
// calls, each with a number above the last, so that a call that arrives late changes nothing. After any failure, and at
// times without one, it reads its node's part of the catalog and compares all of it.
package antientropy
