package raftlog

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/internal/database"
)

// Failed is closed when a write failed for good, or anybody found damage.
func (l *Log) Failed() <-chan struct{} { return l.failed }

// Err returns the first failed write, or the first damage that was found; nil while the log is healthy.
func (l *Log) Err() error {
	if p := l.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail records the first failed write and returns it for the caller to report.
func (l *Log) fail(err error) error {
	err = fmt.Errorf("write raft log: %w", err)
	l.setFailure(err)
	return err
}

// readFailed is the error of a read: ErrCorrupt, with the file, if that is damaged.
func readFailed(err error) error {
	return fmt.Errorf("read raft log: %w", database.Mark(err, ErrCorrupt))
}

func (l *Log) setFailure(err error) {
	if l.failure.CompareAndSwap(nil, &err) && !errors.Is(err, ErrClosed) {
		l.failOnce.Do(func() { close(l.failed) })
	}
}

// commit writes a Pebble batch. Pebble reports a failed write-ahead log to its logger or panics instead of returning an
// error, so both are looked at before the write counts. The caller holds writeMu.
func (l *Log) commit(b *pebble.Batch, sync bool) (err error) {
	if earlier := l.Err(); earlier != nil {
		return fmt.Errorf("%w: %w", ErrFailed, earlier)
	}
	defer func() {
		if r := recover(); r != nil {
			err = l.fail(fmt.Errorf("pebble: %v", r))
		}
	}()
	opts := pebble.NoSync
	if sync {
		opts = pebble.Sync
	}
	if err := b.Commit(opts); err != nil {
		return l.fail(err)
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return l.fail(err)
	}
	return nil
}

// pebbleLogger turns Pebble's log lines into ours. A fatal one fails the log instead of ending the process.
type pebbleLogger struct {
	log    *zap.Logger
	failed func(error)
}

// Infof logs at debug: Pebble's information is for its developers.
func (p pebbleLogger) Infof(format string, args ...any) {
	if ce := p.log.Check(zap.DebugLevel, "pebble"); ce != nil {
		ce.Write(zap.String("text", fmt.Sprintf(format, args...)))
	}
}

// Errorf logs what Pebble could not do in the background.
func (p pebbleLogger) Errorf(format string, args ...any) {
	p.log.Warn("pebble reports an error", zap.String("text", fmt.Sprintf(format, args...)))
}

// Fatalf fails the log.
func (p pebbleLogger) Fatalf(format string, args ...any) {
	p.failed(fmt.Errorf(format, args...))
}
