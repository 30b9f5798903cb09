package tenure_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// newUserPatience is how long a new user may take from an empty folder to a held lock.
const newUserPatience = 5 * time.Minute

// TestANewUserHoldsALockByThePagesOwnCommands runs the shell commands of the page as they stand, against a member on another port, and with
// the module taken from this checkout, as the page says to do before a release.
func TestANewUserHoldsALockByThePagesOwnCommands(t *testing.T) {
	if underRace {
		t.Skip("the race detector does not look into the program that is run")
	}
	page, err := os.ReadFile("../../docs/clients/go.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no commands")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	member := rig.Start(t.Context(), t, binary)
	script := strings.ReplaceAll(string(found[1]), "localhost:7400", member.Addresses.GRPC)
	before, after, ok := strings.Cut(script, "go mod tidy")
	if !ok {
		t.Fatalf("the commands get no modules:\n%s", script)
	}
	script = before + "go mod edit -replace github.com/tenure-io/tenure=" + root + "\n" +
		"tries=1; until go mod tidy; do [ $tries -lt 4 ] || exit 1; tries=$((tries+1)); sleep 2; done" + after
	begun := time.Now()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil && os.Getenv("TENURE_CI") != "1" && regexp.MustCompile(`dial tcp|reading https?://|lookup disabled`).Match(out) {
		t.Skipf("the modules of others cannot be had here:\n%s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "held with token ") {
		t.Errorf("the program said:\n%s", out)
	}
	if took := time.Since(begun); took > newUserPatience {
		t.Errorf("it took %v", took)
	}
}
