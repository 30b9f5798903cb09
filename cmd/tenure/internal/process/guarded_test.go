package process

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
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
func guardedShell(l lease, out *writeSignal, script string) *Guarded {
	return &Guarded{
		Lease: l, Vigil: &Vigil{ttl: l.TTL()}, Grace: 5 * time.Second, Note: func(string, ...any) {},
		What: `the lock on "a"`, Program: "/bin/sh", Argv: []string{"sh", "-c", script},
		Streams: Streams{In: strings.NewReader(""), Out: out, Err: &bytes.Buffer{}},
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
	g.Signals = signals
	type end struct {
		code int
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		code, err := g.Run()
		ended <- end{code, err}
	}()
	<-out.written
	l.ranOut.Store(true)
	select {
	case got := <-ended:
		if got.code != ExitLost || got.err != nil {
			t.Errorf("ended with %d, %v; want %d", got.code, got.err, ExitLost)
		}
	case <-time.After(fake.Patience):
		t.Error("the command goes on")
		signals <- syscall.SIGKILL
		<-ended
	}
}

func TestACommandWhoseRenewalsAreRefusedEndsWithThat(t *testing.T) {
	out := &writeSignal{written: make(chan struct{})}
	l := &fakeLease{left: 15 * time.Second, refusal: errors.New("not allowed: no such token")}
	l.ranOut.Store(true)
	_, err := guardedShell(l, out, "echo runs").Run()
	const want = `lost the lock on "a" before the command started: its renewals are refused: not allowed: no such token`
	if err == nil || err.Error() != want {
		t.Errorf("ended with %v, want %s", err, want)
	}
}

func TestACommandDoesNotBeginWhoseLeaseRanOutBefore(t *testing.T) {
	out := &writeSignal{written: make(chan struct{})}
	l := &fakeLease{left: 15 * time.Second}
	l.ranOut.Store(true)
	code, err := guardedShell(l, out, "echo runs").Run()
	if code != ExitLost || !errors.Is(err, cli.ErrNotRenewed) {
		t.Errorf("ended with %d, %v; want %d, %v", code, err, ExitLost, cli.ErrNotRenewed)
	}
	select {
	case <-out.written:
		t.Error("the command ran")
	default:
	}
}
