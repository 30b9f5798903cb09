package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	"github.com/tenure-io/tenure/test/rig"
)

// launched starts the program `tenure` for a test, and shows what it printed if the test fails.
func launched(t *testing.T, endpoints string, args ...string) *background {
	t.Helper()
	b, err := startBackground(t.TempDir(), endpoints, append([]string{"tenure"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.end()
		if t.Failed() {
			t.Logf("[tenure %s]\n%s", strings.Join(args, " "), b.text())
		}
	})
	return b
}

// expect waits until a program printed an expression, and returns its submatches.
func expect(t *testing.T, b *background, expression string) []string {
	t.Helper()
	found := b.await(regexp.MustCompile(expression))
	if found == nil {
		t.Fatalf("it did not print %q; all it printed: %s", expression, b.text())
	}
	return found
}

// finished waits for a program's end, and returns its exit code.
func finished(t *testing.T, b *background) int {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(fake.Patience):
		t.Fatalf("it does not end; all it printed: %s", b.text())
	}
	return b.cmd.ProcessState.ExitCode()
}

// The first has a lock and is cut off; its command does not obey SIGTERM, and writes on and on. By the time the second has the lock nothing is
// written any more: what the second finds is all that there ever will be.
func TestACommandThatIsCutOffWritesNothingOnceAnotherHasTheLock(t *testing.T) {
	proxy, err := rig.NewProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	// Clients are told the proxy's address, so that the first knows no way around it.
	member := launched(t, "", "serve", "--dev", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0",
		"--advertise", proxy.Address())
	address := expect(t, member, servingLine.String())[1]
	proxy.SetTarget(address)

	file := filepath.Join(t.TempDir(), "written")
	goOn := file + "-on" // The first's command would outlive a test that fails.
	if err = os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(goOn) }) // It goes with its directory at the latest.
	first := launched(t, proxy.Address(), "lock", "job", "--ttl", "9s", "--lock-delay", "0s", "--",
		"sh", "-c", `trap "echo told" TERM; echo runs; while [ -e "$0-on" ]; do echo line >>"$0"; done`, file)
	expect(t, first, "(?m)^runs$")
	proxy.Block("both")
	second := launched(t, address, "lock", "job", "--wait", "1m", "--", "sh", "-c", `echo "found $(wc -c <"$0")"`, file)
	found, err := strconv.ParseInt(strings.TrimSpace(expect(t, second, `(?m)^found +([0-9]+)$`)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if code := finished(t, second); code != cli.ExitOK {
		t.Errorf("the second ended with exit code %d", code)
	}
	proxy.Heal() // The first ends sooner when the cluster tells it that the session is over.
	if code := finished(t, first); code != process.ExitLost {
		t.Errorf("the first ended with exit code %d, want %d", code, process.ExitLost)
	}
	expect(t, first, "(?m)^told$")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 || info.Size() != found {
		t.Errorf("the second found %d bytes, and there are %d now", found, info.Size())
	}
}
