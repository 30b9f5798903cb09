//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris

package datadir

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockAsItIs locks a file of the disk like vfs.FS.Lock, and does not even change when it was written last. A disk that cannot be written to has no
// member that runs on it.
func lockAsItIs(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0) //nolint:gosec // The operator names the directory.
	if errors.Is(err, syscall.EROFS) {
		return os.Open(name) //nolint:gosec // The same.
	}
	if err != nil {
		return nil, err
	}
	spec := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &spec); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
