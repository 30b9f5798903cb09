package conformance_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/clients/conformance/driver"
)

// table returns a line for each scenario, in which its name stands behind what came of it in each language, and a line with sums. CI prints the
// lines that begin with a bar.
func table(results []result, languages []string) string {
	slices.Sort(languages)
	cells := map[string]map[string]string{}
	sums := map[string]map[string]int{}
	for _, language := range languages {
		sums[language] = map[string]int{}
	}
	for _, r := range results {
		line := strings.TrimSuffix(r.scenario.File, ".yaml") + ": " + r.scenario.Name
		if cells[line] == nil {
			cells[line] = map[string]string{}
		}
		cells[line][r.language] = fmt.Sprintf("%-4s %5.1f s", r.outcome, r.took.Seconds())
		if r.outcome == lacked {
			cells[line][r.language] = lacked
		}
		sums[r.language][r.outcome]++
	}
	var names []string
	for name := range cells {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines []string
	add := func(cell func(language string) string, last string) {
		var text strings.Builder
		for _, language := range languages {
			fmt.Fprintf(&text, "| %-14s ", cell(language))
		}
		lines = append(lines, text.String()+"| "+last)
	}
	add(func(language string) string { return language }, "scenario")
	for _, name := range names {
		add(func(language string) string { return cells[name][language] }, name)
	}
	add(func(language string) string {
		sum := sums[language]
		return fmt.Sprintf("%d / %d / %d", sum[passed], sum[failed], sum[lacked])
	}, fmt.Sprintf("%d scenarios: %s / %s / %s", len(names), passed, failed, lacked))
	return strings.Join(lines, "\n")
}

// rowTable returns, for each feature of the seed, what shows it.
func rowTable(scenarios []*driver.Scenario) string {
	lines := []string{"features of the session guide, and what shows them:"}
	for row := 1; row <= seedRows; row++ {
		var shows []string
		for _, s := range scenarios {
			if slices.Contains(s.Rows, row) {
				shows = append(shows, s.Name)
			}
		}
		if test := rowsElsewhere[row]; test != "" {
			shows = append(shows, test)
		}
		lines = append(lines, fmt.Sprintf("%3d  %s", row, strings.Join(shows, "; ")))
	}
	return strings.Join(lines, "\n")
}

// seedRows is how many features the session guide of ZooKeeper names; each is shown by a scenario.
const seedRows = 26

// rowsElsewhere are those that are about many clients: beside a scenario with a few, exact tests show them, of which docs/clients/features.md names
// each language's.
var rowsElsewhere = map[int]string{
	24: "TestTenThousandClientsMoveToNewMembersEvenlyAndUnnoticed",
	25: "TestClientsStayEvenlySpreadThroughChangesOfTheList",
	26: "TestWhoMovesTriesTheNewMembersFirstThenTheOld",
}

// demandRows demands, of a run of everything, that each row is shown in each language.
func demandRows(t *testing.T, results []result) {
	t.Helper()
	if os.Getenv("TENURE_CONFORMANCE") != "all" {
		return
	}
	shown := map[string]map[int]bool{}
	for _, r := range results {
		if shown[r.language] == nil {
			shown[r.language] = map[int]bool{}
		}
		for _, row := range r.scenario.Rows {
			shown[r.language][row] = shown[r.language][row] || r.outcome == passed
		}
	}
	for language, rows := range shown {
		for row := 1; row <= seedRows; row++ {
			if !rows[row] {
				t.Errorf("%s: nothing shows row %d", language, row)
			}
		}
	}
}
