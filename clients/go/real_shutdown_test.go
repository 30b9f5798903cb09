package tenure_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// askedPatience bounds what comes of a process that is asked to end. The TTL of its session is far longer.
const askedPatience = 10 * time.Minute

// pageLock is the lock of the page's program.
const pageLock = "jobs/nightly"

// TestTheNextHasTheLockOfAProcessThatIsAskedToEnd runs the page's program, and sends it SIGTERM while it holds the lock and another waits.
func TestTheNextHasTheLockOfAProcessThatIsAskedToEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), askedPatience)
	defer cancel()
	target := "tenure://" + rig.Start(ctx, t, binary).Addresses.GRPC + "/app?ttl=1h&lock_delay=60s"
	client := openTarget(t, target)
	waiting := session(t, client)
	process := startPageProgram(ctx, t, target)
	holder := awaitLock(ctx, t, client, func(l *tenure.LockInfo) bool { return l.Holders == 1 }).Holds[0].SessionID
	got := make(chan error, 1)
	var had time.Time // When it came. Read once got has the outcome.
	go func() {
		_, err := waiting.Lock(pageLock).Acquire(ctx)
		had = time.Now()
		got <- err
	}()
	awaitLock(ctx, t, client, func(l *tenure.LockInfo) bool { return l.Waiters == 1 })
	asked := time.Now()
	endPageProgram(t, process)
	if err := <-got; err != nil {
		t.Fatalf("the next did not get the lock: %v", err)
	}
	t.Logf("the next has the lock %v after SIGTERM", had.Sub(asked))
	grants := 0
	for event, err := range client.Watch(ctx, tenure.OnLocks(pageLock), tenure.AfterRevision(1, "")) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == tenure.EventLockDelayBegun {
			t.Error("the lock went through its lock-delay")
		}
		if event.Type == tenure.EventLockGranted {
			grants++
		}
		if grants == 2 {
			break
		}
	}
	if info, err := client.LookUpSession(ctx, holder); err != nil || info.EndCause != "DESTROYED" {
		t.Errorf("the session of the process: %+v, %v", info, err)
	}
}

// TestAProcessThatIsAskedToEndLeavesItsPlaceInTheQueue sends the page's program SIGTERM while it waits.
func TestAProcessThatIsAskedToEndLeavesItsPlaceInTheQueue(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), askedPatience)
	defer cancel()
	target := "tenure://" + rig.Start(ctx, t, binary).Addresses.GRPC + "/app?ttl=1h&lock_delay=60s"
	client := openTarget(t, target)
	held, err := session(t, client).Lock(pageLock).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	process := startPageProgram(ctx, t, target)
	awaitLock(ctx, t, client, func(l *tenure.LockInfo) bool { return l.Waiters == 1 })
	endPageProgram(t, process)
	if info, err := client.GetLock(ctx, pageLock); err != nil || info.Waiters != 0 {
		t.Errorf("after the end of the process: %+v, %v", info, err)
	}
	if !held.Safe() {
		t.Errorf("the hold of another ended: %v", held.Err())
	}
}

func openTarget(t *testing.T, target string) *tenure.Client {
	t.Helper()
	client, err := tenure.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// startPageProgram builds and runs the program that the page shows, for a cluster of the test's.
func startPageProgram(ctx context.Context, t *testing.T, target string) *exec.Cmd {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients/go.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```go\n(package main\n[^`]*syscall.SIGTERM.*?)```").FindSubmatch(page)
	if code == nil {
		t.Fatal("the page has no program that takes SIGTERM")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	text := strings.ReplaceAll(string(code[1]), "tenure://localhost:7400/app", target)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	process := exec.CommandContext(ctx, program)
	process.Stderr = t.Output()
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Both fail when it has ended.
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	return process
}

// endPageProgram asks the program to end, and waits until it has.
func endPageProgram(t *testing.T, process *exec.Cmd) {
	t.Helper()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

// awaitLock waits until the lock is as it should be.
func awaitLock(ctx context.Context, t *testing.T, client *tenure.Client, good func(*tenure.LockInfo) bool) *tenure.LockInfo {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		info, err := client.GetLock(ctx, pageLock)
		if err == nil && good(info) {
			return info
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the lock never was so: %+v, %v", info, err)
		case <-ticker.C:
		}
	}
}
