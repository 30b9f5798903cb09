package storage

// checksumsKept is how many of the last applied entries a store knows the checksum of. Members that compare theirs may
// be so many entries apart.
const checksumsKept = 1 << 14

// checksums remembers the checksums of the last applied entries, in memory only. The zero value is empty.
type checksums struct {
	ring  []uint64
	first uint64 // index of the oldest that is known
	next  uint64 // index after the newest
}

// add remembers the checksum of an entry, which follows the last one, or is the first.
func (c *checksums) add(index, sum uint64) {
	if c.ring == nil {
		c.ring = make([]uint64, checksumsKept)
	}
	if index != c.next || c.next == 0 {
		c.first = index
	}
	c.ring[index%checksumsKept] = sum
	c.next = index + 1
	c.first = max(c.first, c.next-min(c.next, checksumsKept))
}

// at returns the checksum of an entry, or false if it is not known any more, or not yet.
func (c *checksums) at(index uint64) (uint64, bool) {
	if index < c.first || index >= c.next {
		return 0, false
	}
	return c.ring[index%checksumsKept], true
}

// ChecksumAt returns the rolling checksum after an applied entry: what Applied.Checksum was then. It is known for the
// last 16 384 entries that were applied since the store was opened, and the one that it was opened with; for others it
// returns false.
func (s *Store) ChecksumAt(index uint64) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums.at(index)
}
