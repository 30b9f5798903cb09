package probe

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

// exitWait is Prober.exitWait outside of tests.
const exitWait = time.Second

// exec runs a program.
func (p *Prober) exec(ctx context.Context, k check.Exec, timeout time.Duration) check.Result {
	output := &limited{}
	command := exec.CommandContext(ctx, k.Args[0], k.Args[1:]...) //nolint:gosec // Running it is what was asked for, and allowed.
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = p.exitWait
	if err := ownGroup(command); err != nil {
		return critical("%v", err)
	}
	err := command.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		killGroup(command)
		err = nil
	}
	text := string(output.bytes)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return check.Result{Status: check.Passing, Output: text}
	case errors.Is(context.Cause(ctx), errTimeout):
		return critical("killed: it did not end within %s\n%s", timeout, text)
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return check.Result{Status: check.Warning, Output: text}
	case errors.As(err, &exit):
		return critical("%s\n%s", exit.ProcessState, text)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return critical("program not found: %v", err)
	default:
		return critical("%v\n%s", err, text)
	}
}

// limited keeps the beginning of what a program writes, and takes the rest as well, so that the program never waits.
type limited struct {
	bytes []byte
}

// Write keeps what still fits.
func (l *limited) Write(p []byte) (int, error) {
	l.bytes = append(l.bytes, p[:min(len(p), check.OutputBytesMax-len(l.bytes))]...)
	return len(p), nil
}
