package thirdparty_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// page is where users read what came of the programs.
const page = "../../docs/consul.md"

// Marks of the table in the page.
const (
	tableBegin = "<!-- made by make thirdparty -->\n"
	tableHead  = "| program | what it does | result |\n|---|---|---|\n"
	tableEnd   = "<!-- end -->\n"
)

// row is a row of the table: what a program did, and what came of it.
type row struct{ program, scenario, said string }

// String returns the row as a line of the page.
func (r row) String() string { return fmt.Sprintf("| %s | %s | %s |\n", r.program, r.scenario, r.said) }

// Reasons why a program was not run.
const (
	notFetched   = "could not be fetched"
	notInstalled = "is not installed"
)

// programsMin is how many programs a whole run has to run, so that nobody takes a run without a network for one.
const programsMin = 5

// ran returns how many programs did something.
func ran(rows []row) int {
	names := map[string]bool{}
	for _, r := range rows {
		if !strings.HasSuffix(r.said, notFetched) && !strings.HasSuffix(r.said, notInstalled) {
			names[r.program] = true
		}
	}
	return len(names)
}

// results are the rows of this run.
var results struct {
	sync.Mutex
	rows []row
}

// note makes a row of the table.
func note(program, scenario, said string) {
	results.Lock()
	defer results.Unlock()
	results.rows = append(results.rows, row{program, scenario, said})
}

// record makes a row of the table when a test has ended.
func record(t *testing.T, program, scenario, passed string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			passed = "failed"
		}
		note(program, scenario, passed)
	})
}

// writeTable puts the results into the page, if the programs of all languages were to run. In the short form it only prints them.
func writeTable() error {
	if fetched == "" {
		return nil
	}
	n, part := ran(results.rows), flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != ""
	if n < programsMin && (short || !part) {
		return fmt.Errorf("%d programs ran, and %d is the least", n, programsMin)
	}
	for _, r := range results.rows {
		if !short || r.said != notFetched { // Then it was not to be, or who fetches has named it.
			fmt.Print("    ", r)
		}
	}
	if short {
		return nil
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err := tabled(string(old), results.rows, part)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o600)
}

// tabled returns the page with the rows of a run in its table. A run of a part of the tests keeps the rows that it did not make.
func tabled(text string, rows []row, part bool) (string, error) {
	before, rest, found := strings.Cut(text, tableBegin)
	table, after, foundEnd := strings.Cut(rest, tableEnd)
	if !found || !foundEnd {
		return "", errors.New("docs/consul.md has no place for the table")
	}
	lines := map[string]bool{}
	if part {
		for line := range strings.Lines(strings.TrimPrefix(table, tableHead)) {
			same := func(r row) bool { return strings.HasPrefix(line, "| "+r.program+" | "+r.scenario+" | ") }
			lines[line] = !slices.ContainsFunc(rows, same)
		}
	}
	for _, r := range rows {
		lines[r.String()] = true
	}
	maps.DeleteFunc(lines, func(_ string, kept bool) bool { return !kept })
	return before + tableBegin + tableHead + strings.Join(slices.Sorted(maps.Keys(lines)), "") + tableEnd + after, nil
}

// TestARunOfAPartKeepsTheOtherRows makes tables of a whole run, and of parts of it.
func TestARunOfAPartKeepsTheOtherRows(t *testing.T) {
	page := func(rows string) string { return "above\n" + tableBegin + tableHead + rows + tableEnd + "below\n" }
	const a, b, old = "| a | lock, 1 member | passed |\n", "| b | lock, 3 members | passed |\n", "| old | lock | passed |\n"
	for name, test := range map[string]struct {
		before string
		rows   []row
		part   bool
		want   string
	}{
		"a whole run makes all rows":                {page(a + old), []row{{"b", "lock, 3 members", "passed"}}, false, page(b)},
		"a part keeps what it did not make":         {page(a + old), []row{{"b", "lock, 3 members", "passed"}}, true, page(a + b + old)},
		"a part replaces what it made":              {page(a + b), []row{{"b", "lock, 3 members", "failed"}}, true, page(a + strings.Replace(b, "passed", "failed", 1))},
		"a part that made nothing keeps everything": {page(a + b), nil, true, page(a + b)},
	} {
		if got, err := tabled(test.before, test.rows, test.part); err != nil || got != test.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, test.want)
		}
	}
	if _, err := tabled("no table", nil, true); err == nil {
		t.Error("a page without a table: got no error")
	}
}

// TestRanCountsPrograms counts the programs of a run that did something.
func TestRanCountsPrograms(t *testing.T) {
	rows := []row{
		{"a", "lock", "passed"}, {"a", "election", "passed"}, {"b", "lock", notFetched}, {"c", "lock", "java " + notInstalled}, {"d", "lock", "failed"},
	}
	if got := ran(rows); got != 2 {
		t.Errorf("got %d programs, want a and d", got)
	}
}
