package requests

// WeakHash makes many keys have the same hash.
func (n *KnownKeys) WeakHash() { n.hash = func(row []byte) uint64 { return uint64(row[len(row)-1]) } }
