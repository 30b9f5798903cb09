package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	// typoShare is the share of a word's letters that may differ from what was meant: one in so many.
	typoShare = 3
	// beginningMin is how many letters of a command's name say that it is meant.
	beginningMin = 3
	// keysCommand is the group that is meant by a word which several groups have: most begin with keys.
	keysCommand = "kv"
)

// otherWords are what other programs call a command, and what it may be called here.
var otherWords = map[string][]string{
	"add":     {"put", "create"},
	"cat":     {"get"},
	"del":     {"delete", "destroy"},
	"delete":  {"destroy", "revoke"},
	"end":     {"destroy"},
	"kill":    {"destroy"},
	"ls":      {"list"},
	"new":     {"create"},
	"open":    {"create"},
	"read":    {"get", "info"},
	"release": {"break"},
	"remove":  {"delete", "destroy"},
	"rm":      {"delete", "destroy"},
	"set":     {"put"},
	"show":    {"info"},
	"status":  {"info"},
	"unlock":  {"break"},
	"write":   {"put"},
}

// CommandMeant returns which command below cmd was probably meant, after a semicolon, or nothing.
func CommandMeant(cmd *cobra.Command, name string) string {
	name = strings.ToLower(name)
	for _, word := range append([]string{name}, otherWords[name]...) {
		if meant := commandNamed(cmd, word); meant != nil {
			return didYouMean(meant)
		}
	}
	var nearest *cobra.Command
	distance := len(name)/typoShare + 1
	for _, child := range cmd.Commands() {
		d := lettersApart(name, child.Name())
		if len(name) >= beginningMin && strings.HasPrefix(child.Name(), name) {
			d = 0
		}
		if child.IsAvailableCommand() && d < distance && d <= typoMax {
			nearest, distance = child, d
		}
	}
	if nearest == nil {
		return ""
	}
	return didYouMean(nearest)
}

func didYouMean(cmd *cobra.Command) string {
	return fmt.Sprintf("; did you mean %q?", cmd.CommandPath())
}

// commandNamed returns the command of that name below cmd, or one level further down if only one group has it, or keys do.
func commandNamed(cmd *cobra.Command, word string) *cobra.Command {
	var found []*cobra.Command
	for _, child := range cmd.Commands() {
		if !child.IsAvailableCommand() {
			continue
		}
		if child.Name() == word {
			return child
		}
		for _, below := range child.Commands() {
			if below.Name() == word && below.IsAvailableCommand() {
				found = append(found, below)
			}
		}
	}
	if i := slices.IndexFunc(found, func(c *cobra.Command) bool { return c.Parent().Name() == keysCommand }); i >= 0 {
		return found[i]
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// lettersApart returns how many letters must be put in, taken out, replaced or swapped with the next to make one word of another.
func lettersApart(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
