// Package registry holds what one agent is responsible for: the services and checks of its machine, whether a file or a
// call registered them, and the state of each check. It promises that a change is made whole or not at all, and that
// every change is announced after it was made. It never waits, runs nothing and writes nothing: package runner runs the
// checks, package keep writes to disk what must outlive the agent, and package antientropy repairs the catalog.
package registry
