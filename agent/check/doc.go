// Package check says how the checks of an agent behave: what a definition may contain, and which status follows from
// which result. It is a pure state machine: callers give it every moment, and it starts nothing, waits for nothing and
// opens no connection. Package runner runs checks; package probe looks at what they are about.
package check
