//go:build unix

package process

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardedSignals returns the signals that a command gets from the program that runs it.
func forwardedSignals() []os.Signal {
	return []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH, syscall.SIGCONT,
	}
}

// processAttributes puts a command into a process group of its own. If this program has the terminal, the command gets
// it, so that it can read from it and Ctrl-C reaches it.
func processAttributes(stdin io.Reader) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(attributes)
	if file, ok := stdin.(*os.File); ok {
		fd := int(file.Fd())
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
			attributes.Foreground = true
			attributes.Ctty = fd
		}
	}
	return attributes
}

// takeTerminalBack makes this program the one that has the terminal, if a command had it.
func takeTerminalBack(attributes *syscall.SysProcAttr) {
	if !attributes.Foreground {
		return
	}
	// Taking the terminal from the background would stop this program.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	// If that fails the shell puts it right.
	_ = unix.IoctlSetPointerInt(attributes.Ctty, unix.TIOCSPGRP, unix.Getpgrp())
}

// signalGroup sends a signal to a process group.
func signalGroup(group int, s syscall.Signal) {
	// A group that is gone needs no signal.
	_ = syscall.Kill(-group, s)
}

// groupLives reports whether a process of a process group is left that runs. Those that have ended and wait for a parent to notice do not: the
// first process of a container may be none that does.
func groupLives(group int) bool { return syscall.Kill(-group, 0) == nil && !allEnded(group) }
