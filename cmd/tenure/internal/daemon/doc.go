// Package daemon is what tenure serve and tenure agent share: the log, the flags for clients of Consul, and default addresses.
package daemon
