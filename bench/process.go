package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopWait is how long a process may take to end after SIGTERM before it is killed.
const stopWait = 10 * time.Second

// process is a child whose CPU time and memory can be read.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the child has ended
	err   error         // how it ended; set before ended is closed
}

// startProcess starts a program that ends with this one. Its output goes to log.
func startProcess(ctx context.Context, log *os.File, name string, args ...string) (*process, error) {
	return startTalking(ctx, log, log, name, args...)
}

// startTalking starts a program that ends with this one, and whose output is read.
func startTalking(ctx context.Context, out, log *os.File, name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWait
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop asks the child to end and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
		return p.err
	case <-time.After(stopWait):
		return errors.Join(fmt.Errorf("%s did not end in %v", p.cmd.Path, stopWait), p.cmd.Process.Kill())
	}
}

// kill ends the child at once, as a crash does, and waits for it.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return nil
}

// cpu returns the CPU time that all threads of the child have used.
func (p *process) cpu() (time.Duration, error) {
	// The kernel's clock of another process: its id, inverted, above three bits that say which clock. See clock_getcpuclockid(3).
	const scheduled = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|scheduled), &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Nano()), nil
}

// rssBytes returns the resident memory of the child.
func (p *process) rssBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStatusRSS(text)
}

// parseStatusRSS returns VmRSS of /proc/PID/status in bytes.
func parseStatusRSS(status []byte) (int64, error) {
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc status has no VmRSS")
}
