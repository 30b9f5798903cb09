package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// startTimeout bounds the start of a member. It is generous: a loaded machine is slow, and a test that waits for the event
// loses nothing by it.
const startTimeout = time.Minute

// leaderTimeout bounds one question to a member that may end before it answers. It is longer than members wait for a leader.
const leaderTimeout = 10 * time.Second

// diskFreeMin is the free space of the disk, in bytes, below which members of tests refuse what makes the state grow.
const diskFreeMin = 16 << 20

// logBytesMax is how much of a member's log a failed test shows, in bytes.
const logBytesMax = 16 << 10

// Addresses are where a member listens, as it reports them.
type Addresses struct {
	GRPC string `json:"grpc"`
	HTTP string `json:"http"`
	Peer string `json:"peer"`
	// Consul is for clients of Consul; empty unless --consul-http is among the member's flags.
	Consul string `json:"consul"`
}

// Member is one process of Tenure. Its methods are for the test's goroutine.
type Member struct {
	t      testing.TB
	binary string
	name   string
	dir    string
	listen []string // flags that say where it listens
	args   []string
	// secured is the folder with what a client needs for TLS, as Authority.Write fills it; empty without TLS.
	secured string
	// token is what its own calls to the member carry; empty for none.
	token string

	cmd  *exec.Cmd
	log  *logBuffer
	done chan error

	// Addresses are those of the last start.
	Addresses Addresses
}

// Start starts a member on a data directory of the test's own and waits until it serves.
func Start(ctx context.Context, t testing.TB, binary string, args ...string) *Member {
	t.Helper()
	m := newMember(t, binary, "member", []string{"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0"}, args)
	m.Restart(ctx)
	return m
}

// newMember returns a member that is not started yet, and is gone when the test ends.
func newMember(t testing.TB, binary, name string, listen, args []string) *Member {
	m := &Member{
		t: t, binary: binary, name: name, dir: filepath.Join(t.TempDir(), name), listen: listen, args: args, log: &logBuffer{},
	}
	t.Cleanup(func() {
		m.Kill()
		if t.Failed() {
			t.Logf("log of member %s:\n%s", m.name, m.log.tail())
		}
	})
	return m
}

// Name returns the member's name; "member" if it was not given one.
func (m *Member) Name() string { return m.name }

// Dir returns the data directory.
func (m *Member) Dir() string { return m.dir }

// Wipe removes the data directory. The process must not be running.
func (m *Member) Wipe() {
	m.t.Helper()
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Fatal(err)
	}
}

// SetArgs changes the flags of the next start, beside those that name directory and addresses.
func (m *Member) SetArgs(args ...string) { m.args = args }

// Args returns the flags of the next start, beside those that name directory and addresses.
func (m *Member) Args() []string { return slices.Clone(m.args) }

// Secure has those who call the member use TLS from now on, with the files of a folder, as Authority.Write makes them.
func (m *Member) Secure(dir string) { m.secured = dir }

// Log returns the end of what the member has written to its log.
func (m *Member) Log() string { return m.log.tail() }

// Logged returns the first line with a text in what the member has written to its log, and what follows; empty when there is
// none.
func (m *Member) Logged(text string) string { return m.log.from(text) }

// PID returns the process id of the last start.
func (m *Member) PID() int { return m.cmd.Process.Pid }

// Exited reports whether the process has ended, by itself or by the test.
func (m *Member) Exited() bool {
	if m.cmd == nil {
		return true
	}
	select {
	case err := <-m.done:
		m.done <- err
		return true
	default:
		return false
	}
}

// Restart starts the process again on its directory and waits until it serves. The process must not be running.
func (m *Member) Restart(ctx context.Context) {
	m.t.Helper()
	m.Launch(ctx)
	m.Await(ctx)
}

// Await waits until the member serves and knows a leader.
func (m *Member) Await(ctx context.Context) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := m.waitReady(ctx); err != nil {
		m.t.Fatalf("tenure did not serve: %v\n%s", err, m.log.tail())
	}
}

// AwaitExit waits until the process has ended by itself and returns how; nil is exit code 0.
func (m *Member) AwaitExit(ctx context.Context) error {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case err := <-m.done:
		m.cmd = nil
		return err
	case <-ctx.Done():
		m.t.Fatalf("the process did not end\n%s", m.log.tail())
		return nil
	}
}

// Launch starts the process on its directory. It must not be running.
func (m *Member) Launch(ctx context.Context) {
	m.t.Helper()
	if err := os.Remove(m.addressesFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	args := slices.Concat([]string{"serve", "--data-dir", m.dir}, m.listen, m.args)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), m.binary, args...)
	cmd.Stdout, cmd.Stderr = m.log, m.log
	// The machine that runs the tests may have little room left, which is not what they are about.
	cmd.Env = append(os.Environ(), "TENURE_DISK_FREE_MIN_BYTES="+strconv.Itoa(diskFreeMin),
		"TENURE_GOSSIP=off") // The node of a member would take a revision at any time.
	if err := cmd.Start(); err != nil {
		m.t.Fatalf("start tenure: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	m.cmd, m.done = cmd, done
}

func (m *Member) addressesFile() string { return filepath.Join(m.dir, "addresses.json") }

// waitReady polls for the addresses file, the one thing a process can tell before it can be called, and then asks.
func (m *Member) waitReady(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := os.ReadFile(m.addressesFile())
		if err == nil && json.Unmarshal(data, &m.Addresses) == nil && m.Addresses.GRPC != "" {
			return m.waitLeader(ctx)
		}
		select {
		case <-tick.C:
		case err := <-m.done:
			m.done <- err
			return fmt.Errorf("the process ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitLeader asks until the member answers for a cluster with a leader. A member says after a few seconds that there is none;
// on a loaded machine the others may need longer to begin.
func (m *Member) waitLeader(ctx context.Context) error {
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, leaderTimeout)
		_, err := tenurev1.NewKVServiceClient(conn).List(call, &tenurev1.ListRequest{PageSize: 1}, grpc.WaitForReady(true))
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case exit := <-m.done:
			m.done <- exit
			return fmt.Errorf("the process ended: %w", exit)
		case <-ctx.Done():
			return err
		}
	}
}

// Fetch returns what the member answers to a GET of a path over HTTP, with TLS if it has it; a status that is not 200 is an error.
func (m *Member) Fetch(ctx context.Context, path string) (http.Header, []byte, error) {
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if m.secured != "" {
		config, err := trust(m.secured)
		if err != nil {
			return nil, nil, err
		}
		scheme, transport.TLSClientConfig = "https", config
	}
	return fetch(ctx, transport, scheme+"://"+m.Addresses.HTTP+path)
}

// fetch returns what is answered to a GET of a URL; a status that is not 200 is an error.
func fetch(ctx context.Context, transport *http.Transport, target string) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return answer.Header, body, err
}

// Kill ends the process with SIGKILL and waits for it. A process that has ended already is fine.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	// Either fails only if the process has ended.
	_ = m.cmd.Process.Signal(syscall.SIGCONT)
	_ = m.cmd.Process.Kill()
	if err := <-m.done; err == nil {
		m.t.Log("the member had ended by itself")
	}
	m.cmd = nil
}

// Stop asks the process to end with SIGTERM, waits, and returns how it ended: nil is exit code 0.
func (m *Member) Stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := <-m.done
	m.cmd = nil
	return err
}

// Pause stops the process with SIGSTOP.
func (m *Member) Pause() {
	m.t.Helper()
	m.signal(syscall.SIGSTOP)
}

// Resume lets a paused process go on.
func (m *Member) Resume() {
	m.t.Helper()
	m.signal(syscall.SIGCONT)
}

func (m *Member) signal(s os.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.t.Fatalf("signal tenure: %v", err)
	}
}

// logBuffer collects the output of all starts of a member.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// tail returns the last logBytesMax bytes.
func (b *logBuffer) tail() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.buf.Bytes()
	return string(data[max(0, len(data)-logBytesMax):])
}

// from returns what begins with the first line that has a text, at most logBytesMax bytes of it; empty when no line has.
func (b *logBuffer) from(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.buf.Bytes()
	at := bytes.Index(data, []byte(text))
	if at < 0 {
		return ""
	}
	data = data[bytes.LastIndexByte(data[:at], '\n')+1:]
	return string(data[:min(len(data), logBytesMax)])
}
