package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// GuardianName is what the program is called as which it is a guardian: so it appears in lists of processes.
const GuardianName = "tenure-guardian"

// guardianDone is what a guardian hears when the command has ended, and nothing is to be done.
const guardianDone = "done"

// guardianPoll is how often a guardian looks whether a command that was told to terminate is gone.
const guardianPoll = 50 * time.Millisecond

// guardian is a process that stands beside this program while a command runs. When this program dies, however that happens, the guardian
// terminates the command and all processes that it started, and kills those that are left after the grace. The system's own means, a signal
// at the death of the parent, reaches the command's first process alone, and only on Linux.
type guardian struct {
	cmd   *exec.Cmd
	speak io.WriteCloser
}

// startGuardian starts a guardian, before its command.
func startGuardian() (*guardian, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, which also watches over the command: %w", err)
	}
	g := &guardian{cmd: &exec.Cmd{
		Path: own, Args: []string{GuardianName}, Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // Signals to this program's group and terminal are not for it.
	}}
	if g.speak, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the process that watches over the command: %w", err)
	}
	return g, nil
}

// guards says which process group is to be terminated from now on, and how long it has to end then. If the guardian was killed, nothing
// guards it.
func (g *guardian) guards(group int, grace time.Duration) {
	_, _ = fmt.Fprintln(g.speak, group, grace.Milliseconds())
}

// dismiss ends the guardian, once the command has ended.
func (g *guardian) dismiss() {
	_, _ = fmt.Fprintln(g.speak, guardianDone)
	_ = g.speak.Close()
	_ = g.cmd.Wait() // How it ended does not matter.
}

// RunGuardian is the whole of a guardian's process, and returns its exit code.
func RunGuardian() int {
	// What asks programs of this name to end is not for it.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	hideName()
	return guard(os.Stdin)
}

// guard is what a guardian does: it hears what to guard, and acts when it hears no more.
func guard(heard io.Reader) int {
	group, grace := 0, time.Duration(0)
	for lines := bufio.NewScanner(heard); lines.Scan(); {
		if lines.Text() == guardianDone {
			return 0
		}
		first, second, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.Atoi(first)
		milliseconds, alsoErr := strconv.Atoi(second)
		if err != nil || alsoErr != nil || number <= 1 {
			return cli.ExitRefused
		}
		group, grace = number, time.Duration(milliseconds)*time.Millisecond
	}
	if group == 0 {
		return 0
	}
	signalGroup(group, syscall.SIGTERM)
	tick := time.NewTicker(guardianPoll)
	defer tick.Stop()
	for until := time.Now().Add(grace); time.Now().Before(until); <-tick.C {
		if !groupLives(group) {
			return 0
		}
	}
	signalGroup(group, syscall.SIGKILL)
	return 0
}
