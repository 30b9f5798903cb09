package conformance_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/clients/conformance/driver"
)

// TestThePageOfFeaturesNamesWhatThereIs checks the page that says what shows each feature: every row is there, and what it names exists. A
// scenario shows a row in all languages; that it runs in all of them, and is green, is demanded by TestConformance.
func TestThePageOfFeaturesNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients/features.md")
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := driver.Load(os.DirFS("scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if row, err := strconv.Atoi(strings.TrimSpace(cells[0])); err == nil {
			rows[row] = cells[1:]
		}
	}
	sources := map[int]string{
		3: sourceOf(t, "../go", "_test.go"), 4: sourceOf(t, "../python/tests", ".py"), 5: sourceOf(t, "../java/src/test", ".java"),
	}
	begins := map[int]string{3: "func ", 4: "def ", 5: "void "}
	for row := 1; row <= seedRows; row++ {
		cells := rows[row]
		if len(cells) != 6 {
			t.Errorf("row %d has %d cells, want 6", row, len(cells))
			continue
		}
		demandScenarios(t, scenarios, row, strings.Split(cells[2], ";"))
		for column, source := range sources {
			for _, test := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[column], -1) {
				if !strings.Contains(source, begins[column]+test[1]+"(") {
					t.Errorf("row %d: there is no test %s", row, test[1])
				}
			}
		}
	}
	if len(rows) != seedRows {
		t.Errorf("%d rows, want %d", len(rows), seedRows)
	}
	demandServerTests(t, string(page))
}

// demandServerTests demands that what the page names outside its table exists in the server's tests, and the files it links to.
func demandServerTests(t *testing.T, page string) {
	t.Helper()
	source := sourceOf(t, "../../server", "_test.go")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			continue
		}
		for _, test := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(line, -1) {
			if !strings.Contains(source, "func "+test[1]+"(") {
				t.Errorf("the server has no test %s", test[1])
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.Join("../../docs/clients", link[1])); err != nil {
				t.Errorf("a link leads nowhere: %v", err)
			}
		}
	}
}

// demandScenarios demands that scenarios exist, say that they show a row, and need nothing that a language may lack.
func demandScenarios(t *testing.T, all []*driver.Scenario, row int, names []string) {
	t.Helper()
	for _, name := range names {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(all, func(s *driver.Scenario) bool { return s.Name == name })
		switch {
		case i < 0:
			t.Errorf("row %d: there is no scenario %q", row, name)
		case !slices.Contains(all[i].Rows, row):
			t.Errorf("row %d: the scenario %q says that it shows %v", row, name, all[i].Rows)
		case len(all[i].Needs) > 0:
			t.Errorf("row %d: the scenario %q needs %v, which a language may lack", row, name, all[i].Needs)
		}
	}
}

// sourceOf returns the text of all files under a directory whose name ends so.
func sourceOf(t *testing.T, dir, end string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
