package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has a command terminated when this program dies.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }

// justStopped tells whether a child was stopped, by Ctrl-Z for one, since it was last asked.
func justStopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// hideName gives this process a name that pkill and killall do not find by the program's.
func hideName() {
	_ = os.WriteFile("/proc/self/comm", []byte("guardian"), 0) // Without it, only they find it.
}
