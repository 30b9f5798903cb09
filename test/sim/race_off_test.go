//go:build !race

package sim_test

// seedsDefault is how many seeds a plain test runs.
const seedsDefault = 50
