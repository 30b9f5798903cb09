package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// Exit codes of commands that run a command, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // Plus the signal's number.
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Process is a running command in a process group of its own, so that signals reach all of it.
type Process struct {
	cmd *exec.Cmd
	// Done is closed after the command has ended and was waited for.
	Done chan struct{}
	// Failed is why waiting failed, other than by the command's own failure. Read it after done.
	Failed error
}

// LookUp finds the program of a command line, before anything is taken for it.
func LookUp(argv []string) (string, error) {
	path, err := exec.LookPath(argv[0])
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", &cli.ExitError{Code: exitNotExecutable, Err: fmt.Errorf("%s cannot be run: %w", cli.Quoted(argv[0]), errors.Unwrap(err))}
	default:
		return "", &cli.ExitError{Code: exitNotFound, Err: fmt.Errorf("%s was not found", cli.Quoted(argv[0]))}
	}
}

// Start starts a command with more variables in its environment, each NAME=VALUE; NAME alone keeps this program's own from it. When this program
// dies without a word, the command is terminated, where the system can do that.
func Start(program string, argv, variables []string, s Streams) (*Process, error) {
	// The context of a command would kill it; ending it is decided elsewhere.
	cmd := &exec.Cmd{
		Path:        program,
		Args:        argv,
		Env:         environment(variables),
		Stdin:       s.In,
		Stdout:      s.Out,
		Stderr:      s.Err,
		SysProcAttr: processAttributes(s.In),
	}
	p := &Process{cmd: cmd, Done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(p.Done)
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
			p.Failed = err
		}
	}()
	if err := <-started; err != nil {
		<-p.Done
		return nil, &cli.ExitError{Code: exitNotExecutable, Err: fmt.Errorf("cannot run %s: %w", cli.Quoted(argv[0]), err)}
	}
	return p, nil
}

// environment returns the environment of this program with variables in place of its own.
func environment(variables []string) []string {
	all := os.Environ()
	for _, variable := range variables {
		name, _, set := strings.Cut(variable, "=")
		all = slices.DeleteFunc(all, func(own string) bool { return strings.HasPrefix(own, name+"=") })
		if set {
			all = append(all, variable)
		}
	}
	return all
}

// group returns the process group of the command. It has the command's number for as long as a process of it is left.
func (p *Process) group() int { return p.cmd.Process.Pid }

// Signal sends a signal to all of the command. A command that has ended is not signalled.
func (p *Process) Signal(s syscall.Signal) {
	select {
	case <-p.Done:
	default:
		signalGroup(p.group(), s)
	}
}

// goOn continues a command that has the terminal and was stopped by Ctrl-Z, and tells whether it did: stopping would leave
// the terminal to nobody, and the lock to a command that does nothing.
func (p *Process) goOn() bool {
	if !p.cmd.SysProcAttr.Foreground || !justStopped(p.cmd.Process.Pid) {
		return false
	}
	p.Signal(syscall.SIGCONT)
	return true
}

// ExitCode returns the command's exit code after done: its own, or 128 and the signal that ended it.
func (p *Process) ExitCode() int {
	state := p.cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

// CatchSignals takes the signals that are passed on to a command, until stop is called.
func CatchSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, forwardedSignals()...)
	return c, func() { signal.Stop(c) }
}

// Ends tells whether a signal asks a program to end.
func Ends(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// SignalExitCode returns the exit code of a program that a signal ended.
func SignalExitCode(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return cli.ExitInterrupted
}
