//go:build unix

package server

import "syscall"

// filesMax raises the limit of descriptors as far as it goes, and returns it; 0 if it is not known.
func filesMax() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	if limit.Cur < limit.Max {
		raised := limit
		raised.Cur = raised.Max
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
			limit = raised
		}
	}
	return uint64(limit.Cur) //nolint:unconvert // It is signed on some systems.
}
