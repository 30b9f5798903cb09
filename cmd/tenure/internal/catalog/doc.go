// Package catalog is the commands about nodes, services, checks, prepared queries and the pool. How instances and states of checks are
// written is used by other commands, too.
package catalog
