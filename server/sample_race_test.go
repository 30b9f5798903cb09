//go:build race

package server_test

// oneOf says of how many hostile values one is tried.
const oneOf = 12
