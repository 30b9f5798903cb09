// Package service answers the calls of AgentService: it turns requests into changes of the registry, and what the registry
// and the sync say into responses. A change that a response confirms is on disk. It knows no listener and no cluster.
package service
