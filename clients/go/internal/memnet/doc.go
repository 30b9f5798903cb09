// Package memnet is a network in memory for tests: members are gRPC services, connections are Go channels. Nothing in it
// looks at a clock, so it runs in the fake time of testing/synctest, and ten thousand connections cost little.
//
// A Net can cut what is connected, refuse new connections, and swallow messages, for each address.
package memnet
