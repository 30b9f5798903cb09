package rig

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Agent is one process of `tenure agent`. Its methods are for the test's goroutine.
type Agent struct {
	t      testing.TB
	binary string
	dir    string
	args   []string
	flags  []string // behind args
	env    []string

	cmd  *exec.Cmd
	log  *logBuffer
	done chan error

	// Address is where it serves gRPC, the same after a restart, and HTTP where it serves metrics.
	Address, HTTP string
	// Consul is for clients of Consul; empty unless --consul-http is among the agent's flags.
	Consul string
}

// agentReady is the line that an agent prints when it serves.
var agentReady = regexp.MustCompile(`tenure: agent node=\S+ grpc=(\S+) http=(\S+)(?: consul=(\S+))?\n`)

// StartAgent starts the agent of a node of members, without gossip, on a directory of the test's own, and waits until it serves. env is added to its
// environment.
func StartAgent(ctx context.Context, t testing.TB, binary, node, endpoints string, env ...string) *Agent {
	t.Helper()
	a := NewAgent(t, binary, node, endpoints, "--gossip", "off")
	a.env = env
	a.Restart(ctx)
	return a
}

// NewAgent returns the agent of a node of members, on a directory of the test's own, that is not started yet and is gone when the test ends.
func NewAgent(t testing.TB, binary, node, endpoints string, flags ...string) *Agent {
	a := &Agent{
		t: t, binary: binary, dir: filepath.Join(t.TempDir(), node), Address: "127.0.0.1:0", log: &logBuffer{},
		args: []string{"--node", node, "--endpoints", endpoints, "--http", "127.0.0.1:0"}, flags: flags,
	}
	t.Cleanup(func() {
		a.Kill()
		if t.Failed() {
			t.Logf("log of the agent of %s:\n%s", node, a.log.tail())
		}
	})
	return a
}

// Wipe removes the agent's directory. The process must not be running.
func (a *Agent) Wipe() {
	a.t.Helper()
	if err := os.RemoveAll(a.dir); err != nil {
		a.t.Fatal(err)
	}
}

// Move changes the flags of the next start, which also serves at another address.
func (a *Agent) Move(flags ...string) { a.flags, a.Address = flags, "127.0.0.1:0" }

// Restart starts the process again on its directory and waits until it serves. The process must not be running.
func (a *Agent) Restart(ctx context.Context) {
	a.t.Helper()
	a.Launch(ctx)
	a.Await(ctx)
}

// Launch starts the process on its directory. It must not be running.
func (a *Agent) Launch(ctx context.Context) {
	a.t.Helper()
	a.log = &logBuffer{}
	args := slices.Concat([]string{"agent", "--data-dir", a.dir, "--listen", a.Address}, a.args, a.flags)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), a.binary, args...)
	cmd.Stdout, cmd.Stderr = a.log, a.log
	cmd.Env = append(os.Environ(), a.env...)
	if err := cmd.Start(); err != nil {
		a.t.Fatalf("start the agent: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	a.cmd, a.done = cmd, done
}

// Await waits until the agent serves.
func (a *Agent) Await(ctx context.Context) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if found := agentReady.FindStringSubmatch(a.log.from("tenure: agent ")); found != nil {
			a.Address, a.HTTP, a.Consul = found[1], found[2], found[3]
			return
		}
		select {
		case <-tick.C:
		case err := <-a.done:
			a.done <- err
			a.t.Fatalf("the agent ended: %v\n%s", err, a.log.tail())
		case <-ctx.Done():
			a.t.Fatalf("the agent did not serve\n%s", a.log.tail())
		}
	}
}

// Fetch returns what the agent answers to a GET of a path over HTTP; a status that is not 200 is an error.
func (a *Agent) Fetch(ctx context.Context, path string) (http.Header, []byte, error) {
	return fetch(ctx, &http.Transport{DisableKeepAlives: true}, "http://"+a.HTTP+path)
}

// PID returns the process id of the last start.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Logged returns the first line with a text in what the agent has written to its log, and what follows; empty when there is none.
func (a *Agent) Logged(text string) string { return a.log.from(text) }

// Exited reports whether the process has ended, by itself or by the test.
func (a *Agent) Exited() bool {
	if a.cmd == nil {
		return true
	}
	select {
	case err := <-a.done:
		a.done <- err
		return true
	default:
		return false
	}
}

// Kill ends the process with SIGKILL and waits for it. A process that has ended already is fine.
func (a *Agent) Kill() {
	if a.cmd == nil {
		return
	}
	_ = a.cmd.Process.Kill() // It fails only if the process has ended.
	if err := <-a.done; err == nil {
		a.t.Log("the agent had ended by itself")
	}
	a.cmd = nil
}

// Stop asks the process to end with SIGTERM, waits, and returns how it ended: nil is exit code 0.
func (a *Agent) Stop() error {
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := <-a.done
	a.cmd = nil
	return err
}
