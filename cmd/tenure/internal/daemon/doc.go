// Package daemon is what tenure serve and tenure agent share: the log, flags for clients and those of Consul, and default addresses.
package daemon
