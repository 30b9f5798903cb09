package process_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// copyDir copies a data directory, but for the file that only holds space.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case rel == "RESERVE" || rel == "LOCK":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitLog waits until a member has said something.
func awaitLog(ctx context.Context, t *testing.T, m *rig.Member, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, failoverTime)
	defer cancel()
	for !strings.Contains(m.Log(), text) {
		if ctx.Err() != nil {
			t.Fatalf("member %s does not say %q:\n%s", m.Name(), text, m.Log())
		}
		wait(ctx, 20*time.Millisecond)
	}
}

// A directory that was copied while its member ran, and put back, has lost what was synced since, as on a disk that lies.
// In the place of the run it was copied from it is mended: it says what it lost, gives no vote, and gets it back. After a
// later run it is refused, with what to do.
func TestADirectoryThatIsPutBackIsMendedOrRefused(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	put(ctx, t, c, "first")
	seen(ctx, t, c, "first")
	leader := c.Leader(ctx)
	var m *rig.Member
	for _, other := range c.Running() {
		if other != leader {
			m = other
		}
	}
	old := filepath.Join(t.TempDir(), "old")
	m.Pause()
	copyDir(t, m.Dir(), old)
	m.Resume()
	for i := range 20 {
		put(ctx, t, c, fmt.Sprint("k", i))
	}
	seen(ctx, t, c, "k19")

	m.Kill()
	m.Wipe()
	copyDir(t, old, m.Dir())
	m.Restart(ctx)
	awaitLog(ctx, t, m, "does not hold what it has promised")
	awaitLog(ctx, t, m, "holds again what it has promised")
	for i := range 20 {
		seen(ctx, t, c, fmt.Sprint("k", i))
	}

	m.Kill()
	m.Restart(ctx)
	put(ctx, t, c, "again")
	seen(ctx, t, c, "again")
	m.Kill()
	m.Wipe()
	copyDir(t, old, m.Dir())
	m.Launch(ctx)
	if err := m.AwaitExit(ctx); err == nil {
		t.Error("the member runs on an old copy")
	}
	for _, want := range []string{"older than, or a copy of", "copied or restored", "--join"} {
		if !strings.Contains(m.Log(), want) {
			t.Errorf("the member does not say %q:\n%s", want, m.Log())
		}
	}
	put(ctx, t, c, "last")
	seen(ctx, t, c, "last")
}
