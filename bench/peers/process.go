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

const (
	// clockTick is the unit of times in /proc on Linux.
	clockTick = 10 * time.Millisecond
	// stopWait is how long a process may take to end before it is killed.
	stopWait = 10 * time.Second
	// logTailBytes is how much of a log is shown.
	logTailBytes = 2000
)

// process is a child whose CPU time can be read.
type process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{} // closed when it has ended
	err   error         // how it ended; set before ended is closed
}

// startProcess starts a program that ends with this one; its output goes to a file.
func startProcess(ctx context.Context, log string, name string, args ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // The child has its own descriptor.
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWait
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log, ended: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stopAll asks processes to end, and waits for them.
func stopAll(processes []*process) error {
	var errs []error
	for _, p := range processes {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	for _, p := range processes {
		select {
		case <-p.ended: // How it ended says nothing: some end by the signal.
		case <-time.After(stopWait):
			errs = append(errs, fmt.Errorf("%s did not end in %v", p.cmd.Path, stopWait), p.cmd.Process.Kill())
		}
	}
	return errors.Join(errs...)
}

// logTail returns the end of a process's output.
func (p *process) logTail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTailBytes):])
}

// cpuOf returns the CPU time that processes have used, to 10 ms each.
func cpuOf(processes []*process) (time.Duration, error) {
	var sum time.Duration
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			return 0, err
		}
		used, err := parseProcessCPU(text)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// parseProcessCPU returns user plus system time of /proc/PID/stat. The program's name, in parentheses, may hold anything, so fields count
// from the last parenthesis.
func parseProcessCPU(stat []byte) (time.Duration, error) {
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

// machineTime is what a machine's processors have done since it started.
type machineTime struct{ busy, all time.Duration }

func readMachineTime() (machineTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machineTime{}, err
	}
	return parseMachineTime(string(text))
}

// parseMachineTime reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. What the host took (steal)
// counts as taken by others.
func parseMachineTime(stat string) (machineTime, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	const idle, iowait, last = 4, 5, 8
	if len(fields) <= last || fields[0] != "cpu" {
		return machineTime{}, errors.New("/proc/stat has too few fields")
	}
	var t machineTime
	for i, field := range fields[1 : last+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return machineTime{}, fmt.Errorf("/proc/stat: %w", err)
		}
		t.all += time.Duration(n) * clockTick
		if at := i + 1; at != idle && at != iowait {
			t.busy += time.Duration(n) * clockTick
		}
	}
	return t, nil
}

// ownCPU returns the CPU time that this program has used.
func ownCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
