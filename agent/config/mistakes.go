package config

import (
	"fmt"
	"strings"
)

// mistakesMax is how many mistakes are named; more are counted.
const mistakesMax = 100

// Mistake is one thing that is wrong in a file.
type Mistake struct {
	File string
	// Line is 0 for the file as a whole.
	Line int
	Text string
}

// String names the place and the mistake.
func (m Mistake) String() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Text)
}

// MistakesError is everything that is wrong, in order of files and lines.
type MistakesError struct {
	Mistakes []Mistake
}

// Error has a line for each mistake.
func (e *MistakesError) Error() string {
	var b strings.Builder
	for i, m := range e.Mistakes {
		if i == mistakesMax {
			fmt.Fprintf(&b, "\n(and %d more mistakes)", len(e.Mistakes)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.String())
	}
	return b.String()
}
