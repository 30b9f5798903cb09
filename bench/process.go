package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc; Linux fixes USER_HZ at 100 for all programs.
const clockTick = 10 * time.Millisecond

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
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
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

// cpu returns the CPU time that the child has used, to 10 ms.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStatCPU(text)
}

// rssBytes returns the resident memory of the child.
func (p *process) rssBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStatusRSS(text)
}

// parseStatCPU returns user plus system time of a line of /proc/PID/stat. The program's name, in parentheses, may hold
// anything, so fields count from the last parenthesis.
func parseStatCPU(stat []byte) (time.Duration, error) {
	_, rest, found := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	fields := strings.Fields(string(rest))
	const userField, systemField = 11, 12 // fields 14 and 15 of the line, without the first two
	if !found || len(fields) <= systemField {
		return 0, errors.New("/proc stat has too few fields")
	}
	user, userErr := strconv.ParseInt(fields[userField], 10, 64)
	system, systemErr := strconv.ParseInt(fields[systemField], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(userErr, systemErr)
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
