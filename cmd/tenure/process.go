package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// Exit codes of commands that run a command, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // Plus the signal's number.
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// process is a running command in a process group of its own, so that signals reach all of it.
type process struct {
	cmd *exec.Cmd
	// done is closed after the command has ended and was waited for.
	done chan struct{}
	// failed is why waiting failed, other than by the command's own failure. Read it after done.
	failed error
}

// lookUp finds the program of a command line, before anything is taken for it.
func lookUp(argv []string) (string, error) {
	path, err := exec.LookPath(argv[0])
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, os.ErrPermission):
		return "", &exitError{code: exitNotExecutable, err: fmt.Errorf("%s cannot be run: %w", quoted(argv[0]), errors.Unwrap(err))}
	default:
		return "", &exitError{code: exitNotFound, err: fmt.Errorf("%s was not found", quoted(argv[0]))}
	}
}

// startProcess starts a command with more variables in its environment. When this program dies without a word, the
// command is terminated, where the system can do that.
func startProcess(program string, argv, variables []string, s streams) (*process, error) {
	// The context of a command would kill it; ending it is decided elsewhere.
	cmd := &exec.Cmd{
		Path:        program,
		Args:        argv,
		Env:         append(os.Environ(), variables...),
		Stdin:       s.in,
		Stdout:      s.out,
		Stderr:      s.err,
		SysProcAttr: processAttributes(s.in),
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		// A parent-death signal comes when the thread ends that started the command.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		takeTerminalBack(cmd.SysProcAttr)
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			p.failed = err
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, &exitError{code: exitNotExecutable, err: fmt.Errorf("cannot run %s: %w", quoted(argv[0]), err)}
	}
	return p, nil
}

// signal sends a signal to all of the command. A command that has ended is not signalled.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done:
	default:
		signalGroup(p.cmd.Process.Pid, s)
	}
}

// goOn continues a command that has the terminal and was stopped by Ctrl-Z, and tells whether it did: stopping would leave
// the terminal to nobody, and the lock to a command that does nothing.
func (p *process) goOn() bool {
	if !p.cmd.SysProcAttr.Foreground || !justStopped(p.cmd.Process.Pid) {
		return false
	}
	p.signal(syscall.SIGCONT)
	return true
}

// exitCode returns the command's exit code after done: its own, or 128 and the signal that ended it.
func (p *process) exitCode() int {
	state := p.cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

// catchSignals takes the signals that are passed on to a command, until stop is called.
func catchSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, forwardedSignals()...)
	return c, func() { signal.Stop(c) }
}

// ends tells whether a signal asks a program to end.
func ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// signalExitCode returns the exit code of a program that a signal ended.
func signalExitCode(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitInterrupted
}
