// Package conformance holds the scenarios that every client library must pass, and runs them: see its README.
package conformance
