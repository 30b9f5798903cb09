package tenure_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// newUserPatience is how long a new user may take from an empty folder to a held lock, failures of the network included.
const newUserPatience = 5 * time.Minute

// modulesTriesMax is how often it is tried to get the modules of others, which comes over the network.
const modulesTriesMax = 4

// TestTheFirstLinesOfThePageWork runs them; a test of clients/conformance checks that the page shows just these.
func TestTheFirstLinesOfThePageWork(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var token uint64
	err := firstLines(ctx, "tenure://"+rig.Start(ctx, t, binary).Addresses.GRPC+"/app", func(_ context.Context, held *tenure.Held) error {
		token = held.Token()
		return nil
	})
	if err != nil || token == 0 {
		t.Errorf("worked with token %d: %v", token, err)
	}
}

func firstLines(ctx context.Context, url string, work func(context.Context, *tenure.Held) error) error {
	client, err := tenure.Open(url)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // As the page shows it.
	session, err := client.OpenSession(ctx)
	if err != nil {
		return err
	}
	return session.Lock("jobs/nightly").Do(ctx, work)
}

// TestANewUserHoldsALockByThePagesOwnCommands runs the shell commands of the page as they stand, in an empty folder and against a member
// on another port.
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
	noModules := regexp.MustCompile(`dial tcp|reading https?://|lookup disabled`) // What go says then.
	member := rig.Start(t.Context(), t, binary)
	script := strings.ReplaceAll(string(found[1]), "localhost:7400", member.Addresses.GRPC)
	var out []byte
	ctx, cancel := context.WithTimeout(t.Context(), newUserPatience) // For all tries.
	defer cancel()
	for range modulesTriesMax {
		cmd := exec.CommandContext(ctx, "sh", "-e", "-c", script)
		cmd.WaitDelay = time.Second // What the script began may outlive it, and has its output open.
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "GOWORK=off", "TENURE="+root)
		if out, err = cmd.CombinedOutput(); err == nil || !noModules.Match(out) {
			break
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("it takes more than %v:\n%s", newUserPatience, out)
	}
	if err != nil && os.Getenv("TENURE_CI") != "1" && noModules.Match(out) {
		t.Skipf("the modules of others cannot be had here:\n%s", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "held with token ") {
		t.Errorf("the program said:\n%s", out)
	}
}
