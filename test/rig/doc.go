// Package rig runs real members of Tenure as processes, for tests that need what no simulation has: kill -9, SIGSTOP, a
// real disk and real sockets.
//
// A Member is started with ports of the kernel's choice, which it reports in DATA_DIR/addresses.json. Whatever a test does
// to it, the process is gone when the test ends, and its log is shown when the test failed.
//
// A Cluster is several members that begin a cluster together, on loopback addresses and ports of its own that stay the
// same over restarts.
package rig
