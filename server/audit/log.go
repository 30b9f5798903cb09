package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/tenure-io/tenure/server/authz"
)

const (
	// queueMax is how many lines may wait to be written. What happens at it is for Full to say.
	queueMax = 8192
	// refusedMax is how many may wait before the line of somebody who was refused is lost: of a handshake, of a call that is denied or only a line because it
	// would be, and of one that failed before anybody decided about it. Anybody can make any number of these, and must not take the room of changes.
	refusedMax = queueMax / 2
	// writeBytes is about how much is written at a time.
	writeBytes = 64 << 10
	// retryEvery is how often it is tried again to write what could not be written.
	retryEvery = time.Second
	// rotateMB and rotatedMax are how large a file becomes, and how many older ones are kept.
	rotateMB, rotatedMax = 100, 10
	// lostFor is how long the problem lasts after the last line was lost.
	lostFor = time.Hour
)

// Full says what happens when no more lines can be queued, or none can be written.
type Full string

// What can happen.
const (
	// Drop means that lines are lost: their numbers are missing, and they are counted.
	Drop Full = "drop"
	// Refuse means that changes are refused whose lines would be lost. Renewals, releases and ends of sessions go on.
	Refuse Full = "refuse"
)

// Options say what is written where.
type Options struct {
	// Path is the file; "-" is Stdout; empty writes nothing.
	Path string
	// Classes are what is written; nil is the default.
	Classes Classes
	// Full says what happens when the queue is full; empty is Drop.
	Full Full
	// Stdout takes the lines for "-".
	Stdout io.Writer
	// Reopen has something when the file is to be closed and opened again; nil has nothing.
	Reopen <-chan os.Signal
	// Member is the member's name.
	Member string
	// Logger is told when lines cannot be written, and when they can be again.
	Logger *zap.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// Log is the log of a member. Any goroutine may call any method; one calls Run.
type Log struct {
	o       Options
	out     io.Writer
	file    *file // nil: not a file
	table   *authz.Table
	metrics *metrics
	wake    chan struct{} // has something when there is something to write
	torn    bool          // the last write ended within a line; Run's

	mu       sync.Mutex // guards what follows
	queue    []numbered
	writing  int // lines that were taken from the queue and are not written
	reserved int // lines that calls under way will add
	seq      uint64
	failing  error // why the last write failed; nil: it did not
	lost     uint64
	lostAt   time.Time
}

// Open opens a log and registers its metrics. Without a path nothing is written.
func Open(o Options) (*Log, error) {
	if o.Classes == nil {
		o.Classes = Default()
	}
	if o.Full == "" {
		o.Full = Drop
	}
	l := &Log{o: o, table: authz.NewTable(), wake: make(chan struct{}, 1)}
	var err error
	if l.metrics, err = newMetrics(o.Registerer, l); err != nil {
		return nil, err
	}
	switch o.Path {
	case "":
	case "-":
		l.out = o.Stdout
	default:
		l.file = &file{Logger: lumberjack.Logger{Filename: o.Path, MaxSize: rotateMB, MaxBackups: rotatedMax}}
		l.out = l.file
		if _, err = l.file.Write(nil); err != nil { // It opens the file.
			return nil, fmt.Errorf("audit log: %w", err)
		}
	}
	return l, nil
}

// On reports whether anything is written. A nil log writes nothing.
func (l *Log) On() bool { return l != nil && l.out != nil }

// file is a file that is rotated. Lumberjack would rename what is in its way, whatever it is. One goroutine uses it at a time.
type file struct {
	lumberjack.Logger

	opened bool
}

// Write writes to the file, which it opens if it is not open. Nothing but a regular file is opened.
func (f *file) Write(p []byte) (int, error) {
	if !f.opened {
		if info, missing := os.Stat(f.Filename); missing == nil && !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%s is not a regular file", f.Filename)
		}
	}
	n, err := f.Logger.Write(p)
	f.opened = err == nil
	return n, err
}

// Close closes the file.
func (f *file) Close() error {
	f.opened = false
	return f.Logger.Close()
}

// reserve takes room for a line, if there is any and lines can be written.
func (l *Log) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing != nil || l.used() >= queueMax {
		return false
	}
	l.reserved++
	return true
}

// used returns how much room is taken. Call it under mu.
func (l *Log) used() int { return len(l.queue) + l.writing + l.reserved }

// add queues a line, into the room that was reserved for it if there is any. Up to room lines may be queued already.
func (l *Log) add(line Line, reserved bool, room int) {
	l.mu.Lock()
	if reserved {
		l.reserved--
	}
	l.seq++
	if l.used() >= room {
		l.lose(1, time.Now())
		l.mu.Unlock()
		return
	}
	l.queue = append(l.queue, numbered{Line: line, seq: l.seq})
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// free gives back room that was reserved for a line that is not written.
func (l *Log) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved--
}

// lose counts lost lines. Call it under mu.
func (l *Log) lose(n int, now time.Time) {
	l.lost += uint64(n)
	l.lostAt = now
	l.metrics.dropped.Add(float64(n))
}

// Run writes lines until ctx ends, and then those that are left.
func (l *Log) Run(ctx context.Context) {
	if !l.On() {
		return
	}
	retry := time.NewTimer(0)
	defer retry.Stop()
	var rest []numbered // could not be written yet
	for {
		select {
		case <-ctx.Done():
			l.end(rest)
			return
		case <-l.o.Reopen:
			l.reopen()
		case <-l.wake:
			if len(rest) > 0 {
				continue // Until it is time to try again.
			}
		case <-retry.C:
		}
		if rest = l.write(rest); l.fails() {
			retry.Reset(retryEvery)
		}
	}
}

// fails reports whether the last write failed.
func (l *Log) fails() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failing != nil
}

// write writes a part of a queue that could not be written before, and then the queue, as long as that works. It returns what could
// not be written.
func (l *Log) write(rest []numbered) []numbered {
	for {
		if len(rest) == 0 {
			if rest = l.take(); len(rest) == 0 {
				if l.fails() {
					_, err := l.out.Write(nil)
					l.wrote(0, err)
				}
				return nil
			}
		}
		n, err := l.writeSome(rest)
		rest = rest[n:]
		l.wrote(n, err)
		if err != nil {
			return rest
		}
	}
}

// take takes what is queued.
func (l *Log) take() []numbered {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.queue
	l.queue, l.writing = nil, len(taken)
	return taken
}

// writeSome writes lines in one write, and returns how many were written to their end.
func (l *Log) writeSome(lines []numbered) (n int, err error) {
	var b bytes.Buffer
	if l.torn {
		b.WriteByte('\n') // What was cut off is a line of its own.
	}
	var ends []int
	for i := range lines {
		if b.Len() >= writeBytes {
			break
		}
		if err = lines[i].append(&b, l.o.Member); err != nil {
			return 0, err
		}
		ends = append(ends, b.Len())
	}
	count, err := l.out.Write(b.Bytes())
	for n < len(ends) && ends[n] <= count {
		n++
	}
	if count > 0 {
		l.torn = count != b.Len() && (n == 0 || ends[n-1] != count)
	}
	if err == nil && n < len(ends) {
		err = io.ErrShortWrite
	}
	return n, err
}

// wrote notes how a write went.
func (l *Log) wrote(n int, err error) {
	l.mu.Lock()
	before := l.failing
	l.writing -= n
	l.failing = err
	l.mu.Unlock()
	l.metrics.lines.Add(float64(n))
	switch {
	case err != nil && before == nil:
		l.o.Logger.Error("audit log cannot be written", zap.Error(err))
	case err == nil && before != nil:
		l.o.Logger.Info("audit log is written again")
	}
}

// reopen closes the file; the next write opens it.
func (l *Log) reopen() {
	if l.file == nil {
		return
	}
	err := l.file.Close()
	if err == nil {
		_, err = l.file.Write(nil)
	}
	if err != nil {
		l.wrote(0, err)
	}
}

// end writes what is left, once, and closes the file.
func (l *Log) end(rest []numbered) {
	rest = l.write(rest)
	l.mu.Lock()
	left := len(rest) + len(l.queue)
	l.lose(left, time.Now())
	l.mu.Unlock()
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	if left > 0 {
		err = errors.Join(err, fmt.Errorf("%d lines are lost", left))
	}
	if err != nil {
		l.o.Logger.Error("audit log ended", zap.Error(err))
	}
}

// Problem returns what an operator should know; empty: nothing.
func (l *Log) Problem() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failing != nil:
		return fmt.Sprintf("the audit log cannot be written: %v; %d lines are lost so far", l.failing, l.lost)
	case l.lost > 0 && time.Since(l.lostAt) < lostFor:
		return fmt.Sprintf("%d lines of the audit log are lost, the last at %s", l.lost, l.lostAt.UTC().Format(time.RFC3339))
	default:
		return ""
	}
}
