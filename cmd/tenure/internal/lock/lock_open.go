package lock

import (
	"context"
	"os"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
)

// openInTime opens the session that holds a lock. Opening it is a part of the wait for the lock, and lasts as long: to the end of --wait, or
// without end, but no shorter than one call may. A signal ends it.
func openInTime(
	ctx context.Context, e *cli.Environment, f *lockFlags, key string, argv []string, signals <-chan os.Signal,
) (*session.Own, error) {
	ctx, cancel := f.opening(ctx, e.Timeout)
	defer cancel()
	return session.OpenOwnUntilSignal(ctx, e, f.request(e, key, argv), signals, func() {
		if !f.try {
			e.Notef("Waiting for %s: the cluster does not answer; still trying", f.what(key))
		}
	})
}

// opening returns the context in which a lock's session is opened, when one call may last so long.
func (f *lockFlags) opening(ctx context.Context, oneCall time.Duration) (context.Context, context.CancelFunc) {
	switch {
	case f.try:
		return context.WithTimeout(ctx, oneCall)
	case f.waitSet:
		return context.WithTimeout(ctx, max(f.wait, oneCall))
	default:
		return context.WithCancel(ctx)
	}
}
