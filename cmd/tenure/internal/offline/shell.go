package offline

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// plainWord is text that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// dirForShell returns a directory as it can be pasted into a shell in any working directory.
func dirForShell(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	dir = cli.Printable(dir)
	if plainWord.MatchString(dir) {
		return dir
	}
	return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
}
