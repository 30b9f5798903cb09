package process

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// In a container whose first process reaps nobody, what a command started stays listed for ever after its end.
func TestAnEndedProcessThatNobodyReapsDoesNotLive(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip("orphans cannot be adopted here:", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	cmd := exec.Command("sh", "-c", "sleep 600 >/dev/null 2>&1 &")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	defer func() {
		signalGroup(group, syscall.SIGKILL)
		_, _ = syscall.Wait4(-group, nil, 0, nil)
	}()
	if !groupLives(group) {
		t.Error("the group does not live, though a process of it runs")
	}
	signalGroup(group, syscall.SIGTERM)
	if err := unix.Waitid(unix.P_PGID, group, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(-group, 0) != nil {
		t.Fatal("the process was reaped")
	}
	if groupLives(group) {
		t.Error("the group lives, though all of it has ended")
	}
}
