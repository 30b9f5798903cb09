// Package queries holds tests of what operators look at: every query of the dashboard and of the alert rules is evaluated by
// the engine of Prometheus, over what the members of a running cluster export, and every alert over series that must make
// it fire, and others that must not.
//
// It is a module of its own, so that nothing else depends on Prometheus. Time is compressed: scrapes follow each other at
// once and are stored as if there had been the usual interval between them.
package queries
