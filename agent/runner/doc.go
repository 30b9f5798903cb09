// Package runner runs the checks of a registry, each by its interval. Runs of one check never overlap, a new check runs
// at once, and the checks that an agent finds again after a restart are spread over their intervals. It also tells the
// registry the time, so that TTLs run out. It owns all goroutines that it starts; they have ended when Run returns.
package runner
