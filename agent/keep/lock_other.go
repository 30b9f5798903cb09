//go:build !unix

package keep

import (
	"fmt"
	"io"
	"os"
)

// lockPath only creates the file: there are no such locks here.
func lockPath(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode) //nolint:gosec // The operator names the directory.
	if err != nil {
		return nil, fmt.Errorf("lock the agent's directory: %w", err)
	}
	return file, nil
}
