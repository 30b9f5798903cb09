package storage

import (
	"fmt"
	"io"

	"github.com/tenure-io/tenure/storage/backup"
)

// BackupMeta is what a backup says of its making; all for people.
type BackupMeta = backup.Meta

// BackupInfo is what a backup holds.
type BackupInfo = backup.Info

// WriteBackup writes a backup of a snapshot. It needs memory for one frame, however large the store is; Apply goes on
// meanwhile.
func WriteBackup(w io.Writer, r *Reader, meta BackupMeta) error {
	a, err := r.Applied()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return backup.Write(w, a, r.rows.Scan, meta)
}

// VerifyBackup reads a backup to its end and says what it holds. It returns ErrBackup, with where, for a file that was
// changed or cut off at any byte, and ErrUnknownFormat for one that a newer program wrote.
func VerifyBackup(r io.Reader) (BackupInfo, error) { return backup.Verify(r) }
