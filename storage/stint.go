package storage

import "math"

// stint is what one command may still do of a work that the next one can go on with. The last row of a command may exceed its bytes,
// so that each gets on.
type stint struct {
	rows  int
	bytes uint64
}

// endless is the stint of a command that does all of its work.
func endless() *stint { return &stint{rows: math.MaxInt, bytes: math.MaxUint64} }

// over reports whether the rest is for the next command.
func (s *stint) over() bool { return s.rows <= 0 || s.bytes == 0 }

// spend counts rows that were done, and their bytes.
func (s *stint) spend(rows int, bytes uint64) {
	s.rows -= rows
	s.bytes -= min(s.bytes, bytes)
}
