package thirdparty_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
)

// page is where users read what came of the programs.
const page = "../../docs/consul.md"

// Marks of the table in the page.
const (
	tableBegin = "<!-- made by make thirdparty -->\n"
	tableEnd   = "<!-- end -->\n"
)

// results are the rows of the table.
var results struct {
	sync.Mutex
	rows []string
}

// note makes a row of the table.
func note(program, scenario, said string) {
	results.Lock()
	defer results.Unlock()
	results.rows = append(results.rows, fmt.Sprintf("| %s | %s | %s |\n", program, scenario, said))
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

// writeTable puts the table into the page, if the programs of all languages were to run.
func writeTable() error {
	if fetched == "" {
		return nil
	}
	sort.Strings(results.rows)
	for _, row := range results.rows {
		fmt.Print(row)
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(old, []byte(tableBegin))
	_, after, foundEnd := bytes.Cut(rest, []byte(tableEnd))
	if !found || !foundEnd {
		return errors.New("docs/consul.md has no place for the table")
	}
	table := "| program | what it does | result |\n|---|---|---|\n" + strings.Join(results.rows, "")
	return os.WriteFile(page, bytes.Join([][]byte{before, []byte(tableBegin + table + tableEnd), after}, nil), 0o600)
}
