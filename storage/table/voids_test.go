package table

import (
	"testing"
)

// TestVoidsOfTwoKindsOfRowsStayApart writes a row at the begin of a void of its kind that meets the end of one of the kind
// before. A scan that enters the void must not pass over the row.
func TestVoidsOfTwoKindsOfRowsStayApart(t *testing.T) {
	v := NewVoids()
	v.Begin(1)
	v.add([]byte{'q', 5}, []byte{'r'}, 1)
	v.add([]byte{'r'}, []byte{'r', 9}, 1)
	v.Begin(2)
	v.wrote([]byte{'r', 3}, true)
	v.Begin(3)
	v.add([]byte{'r', 20}, []byte{'r', 29}, 3) // There are voids of the kind, so it is looked for them.
	for _, row := range [][]byte{{'q', 7}, {'r'}, {'r', 1}, {'r', 3}} {
		if end, in := v.end(row, 3); in && string(end) > string([]byte{'r', 3}) {
			t.Errorf("the void around %q ends at %q: the row %q lives in it", row, end, []byte{'r', 3})
		}
	}
}
