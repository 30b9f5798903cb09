package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fakeLease is a lease that goes on, and that may have run out once.
type fakeLease struct {
	left    time.Duration
	ranOut  atomic.Bool
	refusal error
}

func (*fakeLease) TTL() time.Duration       { return 15 * time.Second }
func (l *fakeLease) SafeFor() time.Duration { return l.left }
func (l *fakeLease) RanOut() bool           { return l.ranOut.Load() }
func (l *fakeLease) Refusal() error         { return l.refusal }

// guardedShell returns a guard over a script of the shell.
func guardedShell(l lease, out *writeSignal, script string) *guarded {
	return &guarded{
		lease: l, vigil: &vigil{ttl: l.TTL()}, grace: 5 * time.Second, note: func(string, ...any) {},
		what: `the lock on "a"`, program: "/bin/sh", argv: []string{"sh", "-c", script},
		streams: streams{in: strings.NewReader(""), out: out, err: &bytes.Buffer{}},
	}
}

// writeSignal closes written at the first Write.
type writeSignal struct{ written chan struct{} }

// Write takes output of the command, once.
func (w *writeSignal) Write(p []byte) (int, error) {
	close(w.written)
	return len(p), nil
}

// After a pause of the whole machine the session may be renewed before anybody looked at the clock: it is safe again, and
// the hold is given back.
func TestACommandIsKilledWhoseLeaseRanOutAlsoIfTheSessionGoesOn(t *testing.T) {
	out := &writeSignal{written: make(chan struct{})}
	l := &fakeLease{left: 15 * time.Second}
	signals := make(chan os.Signal, 1)
	g := guardedShell(l, out, "echo runs; sleep 600")
	g.signals = signals
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := g.run()
		ended <- end{code, err}
	}()
	<-out.written
	l.ranOut.Store(true)
	select {
	case got := <-ended:
		if got.code != exitLost || got.err != nil {
			t.Errorf("ended with %d, %v; want %d", got.code, got.err, exitLost)
		}
	case <-time.After(scriptPatience):
		t.Error("the command goes on")
		signals <- syscall.SIGKILL
		<-ended
	}
}

func TestACommandWhoseRenewalsAreRefusedEndsWithThat(t *testing.T) {
	out := &writeSignal{written: make(chan struct{})}
	l := &fakeLease{left: 15 * time.Second, refusal: errors.New("not allowed: no such token")}
	l.ranOut.Store(true)
	_, err := guardedShell(l, out, "echo runs").run()
	const want = `lost the lock on "a" before the command began: its renewals are refused: not allowed: no such token`
	if err == nil || err.Error() != want {
		t.Errorf("ended with %v, want %s", err, want)
	}
}

func TestACommandDoesNotBeginWhoseLeaseRanOutBefore(t *testing.T) {
	out := &writeSignal{written: make(chan struct{})}
	l := &fakeLease{left: 15 * time.Second}
	l.ranOut.Store(true)
	code, err := guardedShell(l, out, "echo runs").run()
	if code != exitLost || !errors.Is(err, errNotRenewed) {
		t.Errorf("ended with %d, %v; want %d, %v", code, err, exitLost, errNotRenewed)
	}
	select {
	case <-out.written:
		t.Error("the command ran")
	default:
	}
}
