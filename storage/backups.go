package storage

import (
	"fmt"
	"io"
)

// WriteBackup writes a backup of a snapshot. It needs memory for one frame, however large the store is; Apply goes on
// meanwhile.
func WriteBackup(w io.Writer, r *Reader, meta BackupMeta) error {
	a, err := r.Applied()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return writeBackup(w, a, r.rows.scan, meta)
}
