package process

import (
	"bytes"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// What a command that ends by itself leaves running is the user's affair: the guardian is for a program that dies.
func TestAGuardianThatIsDismissedTerminatesNothing(t *testing.T) {
	var out bytes.Buffer
	g := guardedShell(&fakeLease{left: 15 * time.Second}, nil, "sleep 600 >/dev/null 2>&1 & echo $!")
	g.Streams.Out = &out
	if code, err := g.Run(); code != 0 || err != nil {
		t.Fatalf("got %d, %v", code, err)
	}
	left, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err = syscall.Kill(left, syscall.SIGKILL); err != nil {
		t.Errorf("what the command left running is gone: %v", err)
	}
}

func TestAGuardianRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, heard := range []string{"1 5000\n", "0 5000\n", "-7 5000\n", "x 5000\n", "77\n", "\n"} {
		if code := guard(strings.NewReader(heard)); code != cli.ExitRefused {
			t.Errorf("%q: got %d, want %d and nothing signalled", heard, code, cli.ExitRefused)
		}
	}
	if code := guard(strings.NewReader("")); code != 0 {
		t.Errorf("without a command: got %d, want 0", code)
	}
}
