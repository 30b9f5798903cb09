// Package fault runs clusters of real members as processes, breaks them while clients work, and holds what the clients saw
// against the promises, with the checkers of package check.
//
// A run is short by default. TENURE_SOAK=1 makes it as long as is needed to believe it.
package fault
