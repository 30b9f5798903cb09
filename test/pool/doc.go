// Package pool tests machines that watch each other by gossip, with real members and agents: a machine that dies is missed in time and takes its
// sessions with it, and nothing else ends one: no restart, no lost packets, no member that gossip does not reach.
package pool
