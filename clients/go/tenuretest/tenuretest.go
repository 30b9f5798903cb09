// Package tenuretest starts a real member of Tenure for tests of programs that use it.
//
//	func TestMyService(t *testing.T) {
//		member := tenuretest.Start(t)
//		client := member.Client(t)
//		...
//	}
//
// The program is the one that TENURE_BINARY names, or "tenure" in the PATH; a test that finds neither is skipped, unless TENURE_CI is
// 1. A member has a directory and ports of its own, and is gone when its test ends.
package tenuretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/internal/port"
)

// startPatience bounds a member's start.
const startPatience = time.Minute

// logBytesMax is how much of a member's log a failed test shows, in bytes.
const logBytesMax = 16 << 10

// Member is a running member. Its methods are for the test's goroutine.
type Member struct {
	t     testing.TB
	dir   string
	path  string
	flags []string   // Of Start.
	at    *port.Kept // Where it serves clients.
	log   *logBuffer

	cmd     *exec.Cmd // Nil when it is not running.
	done    chan struct{}
	address string
}

// Start starts a cluster of one member and waits until it serves. More flags are those of "tenure serve".
func Start(t testing.TB, flags ...string) *Member {
	t.Helper()
	path := find(t)
	at, err := port.Keep(t.Context()) // While it is down nobody else is given its port.
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{t: t, path: path, flags: flags, at: at, dir: filepath.Join(t.TempDir(), "data"), log: &logBuffer{}}
	t.Cleanup(func() {
		m.Kill()
		_ = at.Close() // Nothing hangs on it any more.
		if t.Failed() {
			t.Logf("log of the member:\n%s", m.log.tail())
		}
	})
	m.start(nil)
	return m
}

// find returns the program.
func find(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("TENURE_BINARY"); path != "" {
		return path
	}
	path, err := exec.LookPath("tenure")
	if err == nil {
		return path
	}
	const text = "no tenure: name one by TENURE_BINARY, or put it into the PATH"
	if os.Getenv("TENURE_CI") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// start starts the process, with more flags than those of Start, and waits until it serves.
func (m *Member) start(more []string) {
	m.t.Helper()
	addresses := filepath.Join(m.dir, "addresses.json")
	if err := os.Remove(addresses); err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	arguments := slices.Concat([]string{
		"serve", "--data-dir", m.dir, "--listen", m.at.Address(), "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0",
	}, m.flags, more)
	cmd := exec.CommandContext(context.WithoutCancel(m.t.Context()), m.path, arguments...) //nolint:gosec // The program under test.
	cmd.Stdout, cmd.Stderr = m.log, m.log
	if err := cmd.Start(); err != nil {
		m.t.Fatalf("start tenure: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // However it ends, it has ended.
	}()
	m.cmd, m.done = cmd, done
	ctx, cancel := context.WithTimeout(m.t.Context(), startPatience)
	defer cancel()
	m.address = m.awaitAddress(ctx, addresses)
	c, err := tenure.Open(m.URL(""))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // It has nothing to tell the cluster.
	if _, err := c.KV().Get(ctx, "ready"); err != nil && !errors.Is(err, tenure.ErrKeyNotFound) {
		m.t.Fatalf("tenure does not serve: %v\n%s", err, m.log.tail())
	}
}

// awaitAddress waits for the file in which a member says where it listens.
func (m *Member) awaitAddress(ctx context.Context, file string) string {
	m.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var addresses struct {
			GRPC string `json:"grpc"`
		}
		data, err := os.ReadFile(file) //nolint:gosec // A file of the test's own directory.
		if err == nil && json.Unmarshal(data, &addresses) == nil && addresses.GRPC != "" {
			return addresses.GRPC
		}
		select {
		case <-tick.C:
		case <-m.done:
			m.t.Fatalf("tenure ended:\n%s", m.log.tail())
		case <-ctx.Done():
			m.t.Fatalf("tenure does not serve:\n%s", m.log.tail())
		}
	}
}

// Address returns host:port for clients.
func (m *Member) Address() string { return m.address }

// URL returns a connection string with a namespace, which may be empty.
func (m *Member) URL(namespace string) string { return "tenure://" + m.address + "/" + namespace }

// Client returns a client in a namespace of the test's own, which is closed with the test.
func (m *Member) Client(t testing.TB, options ...tenure.Option) *tenure.Client {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/?#%, ", r) {
			return '-'
		}
		return r
	}, t.Name())
	c, err := tenure.Open(m.URL(name), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Logf("close the client: %v", err) // The member may have been killed.
		}
	})
	return c
}

// Kill ends the process with SIGKILL, and waits for it. One that has ended is fine.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Signal(syscall.SIGCONT) // It may have ended.
	_ = m.cmd.Process.Kill()
	<-m.done
	m.cmd = nil
}

// Restart starts the member again, where it was, after Kill. The flags are those of Start, and for this time more, which prevail.
func (m *Member) Restart(more ...string) {
	m.t.Helper()
	m.Kill()
	m.start(more)
}

// Pause stops the process, as if the machine stood still, until Resume. Of a member that was killed both fail the test.
func (m *Member) Pause() { m.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (m *Member) Resume() { m.signal(syscall.SIGCONT) }

func (m *Member) signal(s syscall.Signal) {
	m.t.Helper()
	if m.cmd == nil {
		m.t.Fatalf("signal tenure: it is not running")
	}
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatalf("signal tenure: %v", err)
	}
}

// logBuffer collects what a member writes.
type logBuffer struct {
	mu  sync.Mutex // Guards buf.
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.buf.Bytes()
	return string(data[max(0, len(data)-logBytesMax):])
}
