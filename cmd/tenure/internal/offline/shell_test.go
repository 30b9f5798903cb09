package offline

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/raftnode"
)

// TestDirectoriesArePrintedForAShell prints directories that a shell would take apart.
func TestDirectoriesArePrintedForAShell(t *testing.T) {
	for dir, want := range map[string]string{
		"/var/lib/tenure": "/var/lib/tenure",
		"/my data":        "'/my data'",
		"/it's; $HOME":    `'/it'\''s; $HOME'`,
	} {
		if got := dirForShell(dir); got != want {
			t.Errorf("got %s for %s, want %s", got, dir, want)
		}
	}
	here, err := filepath.Abs("data")
	if got := dirForShell("data"); err != nil || got != dirForShell(here) {
		t.Errorf("got %s, %v, want %s", got, err, here)
	}
}

// TestTheResetAfterARestoreCanBePasted restores no tokens into a directory with a blank in its name.
func TestTheResetAfterARestoreCanBePasted(t *testing.T) {
	env, out := fake.EnvironmentAt()
	sayTokens(env, raftnode.Restored{Bootstrapped: true}, &restoreFlags{dataDir: "/my data", dropTokens: true})
	if want := "  tenure auth reset --data-dir '/my data' --out new-admin.token\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %q in it", out.String(), want)
	}
}
