package daemon

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/internal/logline"
)

// TestLinesOfTheLogAreShort logs a megabyte, as a client could have sent it, in both formats.
func TestLinesOfTheLogAreShort(t *testing.T) {
	for _, format := range []string{cli.LogConsole, cli.LogJSON} {
		var out bytes.Buffer
		log, err := NewLogger(&cli.Environment{Stderr: &out}, format, "info")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("session ended", zap.String("reason", strings.Repeat("a", 1<<20)))
		if n := out.Len(); n == 0 || n > 2*logline.TextBytesMax {
			t.Errorf("%s: got a line of %d bytes, want at most %d", format, n, 2*logline.TextBytesMax)
		}
	}
}
