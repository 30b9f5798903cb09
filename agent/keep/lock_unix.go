//go:build unix

package keep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockPath locks a file until it is closed or the process ends.
func lockPath(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode) //nolint:gosec // The operator names the directory.
	if err != nil {
		return nil, fmt.Errorf("lock the agent's directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrLocked, path, err), file.Close())
	}
	return file, nil
}
