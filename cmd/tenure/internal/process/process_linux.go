package process

import (
	"os"
	"strconv"
	"strings"
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

// allEnded reports whether a process group has processes and all of them have ended, so that they only wait for a parent. It looks twice, because
// one look may miss a process that was started during it.
func allEnded(group int) bool {
	for range 2 {
		if !seenEnded(group) {
			return false
		}
	}
	return true
}

// seenEnded is one look of allEnded.
func seenEnded(group int) bool {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	found := false
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		state, its, ok := stateOf(p.Name())
		switch {
		case !ok || its != group: // It is gone, or of another group.
		case state != "Z" && state != "X":
			return false
		default:
			found = true
		}
	}
	return found
}

// stateOf returns the state and the process group of a process.
func stateOf(pid string) (state string, group int, ok bool) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", 0, false
	}
	// The name before may have spaces and parentheses. After it come state, parent and group.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 3 {
		return "", 0, false
	}
	group, err = strconv.Atoi(fields[2])
	return fields[0], group, err == nil
}
