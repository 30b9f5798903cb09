package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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

// allEnded reports whether a process group is known to have processes, all of which have ended, so that they only wait for a parent. It looks
// twice, because one look may miss a process that was started during it.
func allEnded(group int) bool {
	for range 2 {
		if !procFS("/proc").seenEnded(group) {
			return false
		}
	}
	return true
}

// procFS is where the system shows processes.
type procFS string

// seenEnded is one look of allEnded. A process that is not shown may be one that runs.
func (p procFS) seenEnded(group int) bool {
	if !p.complete() {
		return false
	}
	entries, err := os.ReadDir(string(p))
	if err != nil {
		return false
	}
	found := false
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		its, ended, err := p.look(entry.Name())
		switch {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ESRCH): // It is gone.
		case err != nil:
			return false
		case its != group:
		case !ended:
			return false
		default:
			found = true
		}
	}
	return found
}

// complete reports whether the processes of all users are shown, which the mount option hidepid prevents.
func (p procFS) complete() bool {
	mounts, err := os.ReadFile(filepath.Join(string(p), "self/mounts"))
	if err != nil {
		return false
	}
	for mount := range strings.Lines(string(mounts)) {
		fields := strings.Fields(mount) // What is mounted, where, the type and the options.
		if len(fields) < 4 || fields[1] == string(p) && strings.Contains(fields[3], "hidepid=") {
			return false
		}
	}
	return true
}

// errStat says that the state of a process is written as no system known here writes it.
var errStat = errors.New("state of a process not understood")

// look returns the group of a process, and whether it has ended: its state is that of its first thread, which may end before the others.
func (p procFS) look(pid string) (group int, ended bool, err error) {
	stat, err := os.ReadFile(filepath.Join(string(p), pid, "stat"))
	if err != nil {
		return 0, false, err
	}
	// The name before may have spaces and parentheses. After it come state, parent and group, and as the 18th the number of threads.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 18 {
		return 0, false, errStat
	}
	group, err = strconv.Atoi(fields[2])
	if err != nil {
		return 0, false, errStat
	}
	threads, err := strconv.Atoi(fields[17])
	if err != nil {
		return 0, false, errStat
	}
	return group, (fields[0] == "Z" || fields[0] == "X") && threads <= 1, nil
}
