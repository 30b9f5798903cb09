package raftnode

import "github.com/tenure-io/tenure/raftnode/core"

// WithFaults plants bugs.
func WithFaults(o Options, f core.Faults) Options {
	o.faults = f
	return o
}

// WithLogMemTable makes the log's memtable so small that its write-ahead log is rotated and tables are written.
func WithLogMemTable(o Options, size uint64) Options {
	o.logMemTableSize = size
	return o
}
