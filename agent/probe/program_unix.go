//go:build unix

package probe

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a program into a process group of its own, and has all of it killed when its context ends.
func ownGroup(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error {
		if err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL); err != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	return nil
}

// killGroup kills what a program that has ended left behind, and what still held its output.
func killGroup(command *exec.Cmd) {
	// A group that is gone needs no signal.
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
}
