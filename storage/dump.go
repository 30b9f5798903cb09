package storage

import (
	"bufio"
	"fmt"
	"io"

	"github.com/tenure-io/tenure/storage/layout"
)

// Dump writes all that must be equal on every member that applied the same entries, one row a line, as text. It is for
// people and tests; nothing reads it back.
func (s *Store) Dump(w io.Writer) error {
	r := s.NewReader()
	err := r.Dump(w)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Dump is Store's, of the snapshot.
func (r *Reader) Dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := r.rows.Scan([]byte{0}, nil, func(row, value []byte) (bool, error) {
		line, err := layout.RowText(row, value)
		if err != nil {
			return false, err
		}
		_, err = out.WriteString(line + "\n")
		return true, err
	})
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}
