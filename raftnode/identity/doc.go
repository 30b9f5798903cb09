// Package identity makes a member one of its cluster: it begins a cluster with others or joins one, knows who the others are and
// whether a caller is who it says, and notices when a disk does not hold what its member has promised.
//
// It promises: a directory begins at most once, and a cluster that a majority began is the only one that can. A member that was
// removed, or runs on an old or copied directory, ends when any other member can tell it. One whose log lost its end gives no
// vote until its disk holds again what it has promised. One message alone stops nobody: the others are asked first.
//
// It needs the data directory, the log, a listener for peers (Wire, which is there before the member is open), and callers who
// call in the order of Self: New and Greet before raft reads the log, Attach when the member is open.
package identity
