//go:build unix

package datadir

import (
	"os"
	"syscall"
)

// ownerOf returns whom a file belongs to.
func ownerOf(info os.FileInfo) (owner, bool) {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return owner{}, false
	}
	return owner{int(stat.Uid), int(stat.Gid)}, true
}

// giveOpen gives an open file.
func giveOpen(fd uintptr, to owner) error {
	return os.NewSyscallError("fchown", syscall.Fchown(int(fd), to.uid, to.gid))
}
