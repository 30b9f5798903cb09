package unread

import (
	"context"
	"runtime"
)

// buildsPerCPU is how many large answers are built at a time, for each processor.
const buildsPerCPU = 4

// Builds bounds how many large answers are built at a time: what is built and not yet counted is nobody's. Others wait.
type Builds chan struct{}

// NewBuilds returns a bound that keeps all processors busy.
func NewBuilds() Builds { return make(Builds, buildsPerCPU*runtime.GOMAXPROCS(0)) }

// build is the building of one call's answer. One goroutine uses it.
type build struct {
	of    Builds
	begun bool
}

type buildKey struct{}

// Context returns the context of a call that may build a large answer. The caller calls end when that counts, or will not.
func (b Builds) Context(ctx context.Context) (in context.Context, end func()) {
	mine := &build{of: b}
	return context.WithValue(ctx, buildKey{}, mine), func() {
		if mine.begun {
			<-b
		}
	}
}

// Begin waits until a call may build a large answer; from then on it waits at most a second for the leader's timers, and for nothing
// else. A call whose context is not of Builds has
// no bound.
func Begin(ctx context.Context) error {
	mine, ok := ctx.Value(buildKey{}).(*build)
	if !ok || mine.begun {
		return nil
	}
	select {
	case mine.of <- struct{}{}:
		mine.begun = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
