// Package compaction keeps history from growing without end: while its member leads it proposes Compact commands.
//
// It keeps as many revisions or as much time as the replicated limits say, whichever is more, but at most so many bytes, and
// less when the store has too little left for what is written. It looks at that after every Apply, and at the rest now and then.
// How old a revision is, the leader counts on its own monotonic clock from when it saw it: a new leader knows nothing of
// the time before, and so keeps more rather than less.
//
// What else the state remembers above its limits, such as results of sessions that ended after the limits were lowered, goes with the
// same commands, some of it with each.
//
// A command that comes twice, late or from an old leader forgets nothing that this one would not, so it carries no term.
package compaction
