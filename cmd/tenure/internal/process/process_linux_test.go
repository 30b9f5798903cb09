package process

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// runWithoutFirst ends the first thread of this process, says so, and works on in others until its input ends.
func runWithoutFirst() int {
	forever := make(chan struct{})
	try := func(tried chan<- bool) {
		runtime.LockOSThread()
		if first := unix.Gettid() == unix.Getpid(); !first {
			tried <- false
			<-forever // So the next goroutine gets another thread.
		}
		tried <- true
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // It ends the thread alone.
	}
	for first := false; !first; {
		tried := make(chan bool)
		go try(tried)
		first = <-tried
	}
	for {
		stat, err := os.ReadFile("/proc/self/stat")
		if err != nil {
			return 1
		}
		if strings.Contains(string(stat), ") Z ") {
			break
		}
		runtime.Gosched()
	}
	_, _ = os.Stdout.WriteString("ended\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// The state of a process is that of its first thread, which may end before the others.
func TestAProcessLivesWithoutItsFirstThread(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: own, Args: []string{withoutFirstName}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ended\n" {
		t.Errorf("the process said %q, %v; want that its first thread has ended", line, err)
	}
	if !groupLives(cmd.Process.Pid) {
		t.Error("the group does not live, though threads of it work")
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if groupLives(cmd.Process.Pid) {
		t.Error("the group lives after its end")
	}
}

// Where a process may be hidden, or cannot be looked at, nobody knows that all of its group have ended.
func TestAGroupHasEndedOnlyIfAllOfItIsShown(t *testing.T) {
	const (
		ended = "11 (a) b) Z 1 77 77 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"
		other = "12 (sh) S 1 78 78 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"
		shown = "proc ROOT proc rw,nosuid 0 0\n"
	)
	for name, test := range map[string]struct {
		mounts string
		stats  map[string]string
		want   bool
	}{
		"all is shown":                 {shown, map[string]string{"11": ended, "12": other}, true},
		"a process runs":               {shown, map[string]string{"11": ended, "12": strings.Replace(other, " 78 78", " 77 77", 1)}, false},
		"threads work":                 {shown, map[string]string{"11": strings.Replace(ended, " 20 0 1 ", " 20 0 2 ", 1)}, false},
		"none is of the group":         {shown, map[string]string{"12": other}, false},
		"a process is gone":            {shown, map[string]string{"11": ended, "12": ""}, true},
		"a process is not shown":       {shown, map[string]string{"11": ended, "12": "a directory"}, false},
		"a state is not understood":    {shown, map[string]string{"11": ended, "12": "12 (sh) S 1\n"}, false},
		"those of others are hidden":   {strings.Replace(shown, "nosuid", "hidepid=invisible", 1), map[string]string{"11": ended}, false},
		"they are hidden elsewhere":    {"proc /jail proc rw,hidepid=2 0 0\n" + shown, map[string]string{"11": ended}, true},
		"nobody knows who are hidden":  {"", map[string]string{"11": ended}, false},
		"they are hidden further down": {shown + "proc ROOT proc rw,hidepid=2 0 0\n", map[string]string{"11": ended}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(path, text string) {
				t.Helper()
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				var err error
				switch text {
				case "":
				case "a directory": // Also root cannot read it.
					err = os.Mkdir(path, 0o700)
				default:
					err = os.WriteFile(path, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			write("self/mounts", strings.ReplaceAll(test.mounts, "ROOT", root))
			for pid, stat := range test.stats {
				write(pid+"/stat", stat)
			}
			if got := procFS(root).seenEnded(77); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
