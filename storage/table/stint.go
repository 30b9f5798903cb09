package table

import "math"

// Stint is what one command may still do of a work that the next one can go on with. The last row of a command may exceed its bytes,
// so that each gets on.
type Stint struct {
	Rows  int
	Bytes uint64
}

// Endless is the stint of a command that does all of its work.
func Endless() *Stint { return &Stint{Rows: math.MaxInt, Bytes: math.MaxUint64} }

// Over reports whether the rest is for the next command.
func (s *Stint) Over() bool { return s.Rows <= 0 || s.Bytes == 0 }

// Spend counts rows that were done, and their bytes.
func (s *Stint) Spend(rows int, bytes uint64) {
	s.Rows -= rows
	s.Bytes -= min(s.Bytes, bytes)
}
