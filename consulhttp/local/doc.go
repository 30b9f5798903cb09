// Package local serves over Consul's HTTP what the agent of a machine has: its services, its checks and its maintenance.
//
// It calls the agent and nothing else. A change is answered once the catalog has it, but after a second at the latest.
package local
