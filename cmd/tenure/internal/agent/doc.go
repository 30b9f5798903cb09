// Package agent is tenure agent, and the commands that speak to the agent of their machine: tenure service and tenure check.
//
// The agent calls members with what the flags name, and repeats only what can be repeated.
package agent
