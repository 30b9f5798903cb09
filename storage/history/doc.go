// Package history keeps the events of commands on disk, by revision and index, and forgets old ones.
//
// Compaction forgets all events at or below a revision at once; they leave the disk in steps, so that no command takes long. Like all of
// apply it knows no clock, and what it does depends on the log alone.
package history
