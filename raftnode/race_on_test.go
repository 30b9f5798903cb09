//go:build race

package raftnode_test

// raceDetector is whether the race detector slows this run down; long tests do less then.
const raceDetector = true
