// Package driver runs scenarios against client libraries: it starts real members, a proxy in front of each, and agents, does
// what the scenario says, and compares what the agents report with what it expects. The protocol and the form of a scenario
// are in the README of clients/conformance.
//
// A run of a scenario has members, proxies and agents of its own, and leaves none. It is for tests: what cannot be set up
// fails the test, what a scenario finds is returned.
package driver
