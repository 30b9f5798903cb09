// Command bench measures one member of Tenure from the outside: it starts the real binary as its own process on an empty
// data directory and loads it over gRPC.
//
// In the same run, round by round between the measurements of the member, it measures what the machine gives by itself:
// a write with fdatasync on the same disk, and a unary gRPC echo from a process of its own. The goals are ratios to
// these, because absolute figures change with the machine and the hour. METHOD.md tells how each figure comes about.
//
// It is a benchmark, never a test: it reports goals as met or missed, and fails only when something could not be
// measured. It needs Linux, for /proc and fdatasync.
package main
