package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

// ProgramsMax is how many programs one Prober runs at the same time. More wait, and their time-out does not run yet.
const ProgramsMax = 64

// Prober makes the probes of one agent. Its methods may be called from many goroutines.
type Prober struct {
	userAgent string
	programs  chan struct{}
	// exitWait is how long output is awaited after a program has ended or was killed: something it started may hold it open.
	exitWait time.Duration
}

// New returns a Prober that calls itself userAgent over HTTP and gRPC.
func New(userAgent string) *Prober {
	return &Prober{userAgent: userAgent, programs: make(chan struct{}, ProgramsMax), exitWait: exitWait}
}

// Probe looks once, for at most timeout. The second result is false if ctx ended first: then there is no result.
func (p *Prober) Probe(ctx context.Context, kind check.Kind, timeout time.Duration) (check.Result, bool) {
	if _, is := kind.(check.Exec); is {
		select {
		case p.programs <- struct{}{}:
			defer func() { <-p.programs }()
		case <-ctx.Done():
			return check.Result{}, false
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	var result check.Result
	switch k := kind.(type) {
	case check.HTTP:
		result = p.http(limited, k, timeout)
	case check.TCP:
		result = p.tcp(limited, k, timeout)
	case check.GRPC:
		result = p.grpc(limited, k, timeout)
	case check.Exec:
		result = p.exec(limited, k, timeout)
	default:
		return critical("nothing is run for a check of kind %s", kind.Name()), true
	}
	result.Output = check.Cut(result.Output)
	return result, ctx.Err() == nil
}

var errTimeout = errors.New("time-out")

// failed returns the result of a probe that got no answer.
func failed(ctx context.Context, what string, timeout time.Duration, err error) check.Result {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return critical("%s: no answer within %s", what, timeout)
	}
	return critical("%s: %v", what, err)
}

func critical(format string, args ...any) check.Result {
	return check.Result{Status: check.Critical, Output: fmt.Sprintf(format, args...)}
}

func passing(format string, args ...any) check.Result {
	return check.Result{Status: check.Passing, Output: fmt.Sprintf(format, args...)}
}
