// Package serve is tenure serve: one member until a signal to stop, with the agent of its machine inside it if the flags ask for that.
package serve
