//go:build race

package tenure_test

// underRace tells that the race detector watches, which makes everything slow.
const underRace = true
