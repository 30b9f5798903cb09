//go:build unix

package probe_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/probe"
)

func shell(script string, args ...string) check.Exec {
	return check.Exec{Args: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// pipe makes a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExec(t *testing.T) {
	want(t, look(t, shell("echo out; echo err >&2")), check.Passing, "out\nerr\n")
	want(t, look(t, shell("echo slow; exit 1")), check.Warning, "slow")
	want(t, look(t, shell("echo down; exit 2")), check.Critical, "exit status 2\ndown")
	want(t, look(t, shell("kill -9 $$")), check.Critical, "killed")
	want(t, look(t, check.Exec{Args: []string{"/does/not/exist"}}), check.Critical, "program not found")
	want(t, look(t, check.Exec{Args: []string{"tenure-does-not-exist"}}), check.Critical, "program not found")
	want(t, look(t, check.Exec{Args: []string{t.TempDir()}}), check.Critical, "permission denied")
	if got := look(t, shell("dd if=/dev/zero bs=1024 count=4096 2>/dev/null | tr '\\0' x")); got.Status != check.Passing || got.Output != strings.Repeat("x", 4096) {
		t.Errorf("4 MiB of output: got %s and %d bytes, want passing and the first 4096", got.Status, len(got.Output))
	}
}

func TestExecIsKilledWithItsChildren(t *testing.T) {
	path := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan bool)
	go func() {
		// The program waits for a child's child, which holds the pipe open.
		_, ok := probe.New("tenure-test").Probe(ctx, shell(`(sh -c 'exec sleep 100000' > "$1") & wait`, path), time.Hour)
		over <- ok
	}()
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	cancel()
	// The pipe ends when none is left that holds it.
	if _, err := io.ReadAll(reader); err != nil {
		t.Fatal(err)
	}
	if <-over {
		t.Error("a program that was stopped had a result")
	}
}

func TestExecThatLeavesAChildBehind(t *testing.T) {
	path := pipe(t)
	over := make(chan check.Result)
	go func() {
		// The child holds the output open, and a pipe that tells when it is gone.
		result, _ := probe.New("tenure-test").Probe(t.Context(), shell(`sleep 100000 3> "$1" & echo started`, path), time.Hour)
		over <- result
	}()
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	// The output may be lost where the prober is not scheduled for as long as it waits.
	want(t, <-over, check.Passing, "")
	if _, err := io.ReadAll(reader); err != nil {
		t.Fatal(err)
	}
}

func TestProgramsAtOnce(t *testing.T) {
	prober, path := probe.New("tenure-test"), pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan bool)
	for range probe.ProgramsMax {
		go func() {
			_, ok := prober.Probe(ctx, shell(`echo x > "$1"; exec sleep 100000`, path), time.Hour)
			over <- ok
		}()
	}
	// It is open for writing too, so that it does not end when a writer closes it.
	pipes, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pipes.Close() }()
	if _, err := io.ReadFull(pipes, make([]byte, 2*probe.ProgramsMax)); err != nil {
		t.Fatal(err)
	}
	// All run. One more waits, also longer than its time-out, and does not begin.
	marker := filepath.Join(t.TempDir(), "marker")
	waiting, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, ok := prober.Probe(waiting, shell(`touch "$1"`, marker), time.Millisecond); ok {
		t.Error("one more program than may run at the same time had a result")
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("one more program than may run at the same time ran")
	}
	cancel()
	for range probe.ProgramsMax {
		<-over
	}
	want(t, look(t, shell("echo free")), check.Passing, "free")
}
