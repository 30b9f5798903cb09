package layout

// Entry is one committed raft entry.
type Entry struct {
	// Index and Term are the entry's own; indexes follow each other without a gap.
	Index, Term uint64
	// Data is a marshalled Envelope; empty for raft's own entries.
	Data []byte
	// ConfState is the configuration after a conf change entry, as raftnode marshals it; nil otherwise.
	ConfState []byte
}
