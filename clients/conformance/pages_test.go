package conformance_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// shown names the code of pages, by language, and the tests that run it. That in Python is run from the pages.
var shown = []struct {
	page, language string
	// first is what a block begins with, of which there may be several; empty is the page's first block only.
	first string
	tests string
}{
	{"coming-from.md", "go", "// Tenure\n", "../go/coming_from_test.go"},
	{"coming-from.md", "java", "// Tenure\n", "../java/src/test/java/io/tenure/ComingFromTest.java"},
	{"clients/go.md", "go", "", "../go/path_test.go"},
	{"clients/java.md", "java", "", "../java/src/test/java/io/tenure/PathTest.java"},
	{"clients/java.md", "java", "// An election\n", "../java/src/test/java/io/tenure/SamplesTest.java"},
	{"clients/java.md", "java", "// A watch\n", "../java/src/test/java/io/tenure/SamplesTest.java"},
	{"clients/java.md", "java", "// A cache\n", "../java/src/test/java/io/tenure/SamplesTest.java"},
}

// firstLinesMax is how long the code may be with which a page begins.
const firstLinesMax = 10

// TestPagesShowWhatIsTested demands that each block of code stands in a test, line by line.
func TestPagesShowWhatIsTested(t *testing.T) {
	for _, s := range shown {
		page, err := os.ReadFile("../../docs/" + s.page)
		if err != nil {
			t.Fatal(err)
		}
		tests, err := os.ReadFile(s.tests)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```"+s.language+"\n"+s.first+"(.*?)```").FindAllStringSubmatch(string(page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code in %s", s.page, s.language)
			continue
		}
		if s.first == "" {
			blocks = blocks[:1]
			if lines := strings.Count(blocks[0][1], "\n"); lines > firstLinesMax {
				t.Errorf("%s begins with %d lines", s.page, lines)
			}
		}
		for _, block := range blocks {
			if !strings.Contains(bare(string(tests)), bare(block[1])) {
				t.Errorf("%s shows what is not in %s:\n%s", s.page, s.tests, block[1])
			}
		}
	}
}

// bare returns code without indentation, empty lines, imports and remarks to linters, as it is with the address of a test's own member.
func bare(code string) string {
	var lines strings.Builder
	for line := range strings.Lines(code) {
		line, _, _ = strings.Cut(line, " //nolint")
		line = strings.ReplaceAll(strings.TrimSpace(line), `"tenure://localhost:7400/app"`, "url")
		if line != "" && !strings.HasPrefix(line, "import ") {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}

// TestTheReferenceNamesWhatThereIs demands that each option of the page that compares the libraries exists in its library.
func TestTheReferenceNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	libraries := map[string]struct {
		source string
		// named is how an option stands there.
		named string
	}{
		"Go":     {sourceOf(t, "../go", ".go"), `(?m)^func (\([^)]*\) )?%s\(`},
		"Python": {sourceOf(t, "../python/src", ".py"), `(?m)\b%s: |def %[1]s\(`},
		"Java":   {sourceOf(t, "../java/src/main", ".java"), `(?m)^  public [\w.<>, ]*\b%s\(|^    [\w.<>]+ %[1]s[,)]`}, // Of a record, too.
	}
	var columns []string // By number, the library.
	found := map[string]int{}
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") {
			if !strings.HasPrefix(line, "|") {
				columns = nil
			}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if columns == nil {
			for _, cell := range cells {
				language, _, _ := strings.Cut(strings.TrimSpace(cell), ":")
				columns = append(columns, language)
			}
			continue
		}
		for i, cell := range cells {
			library, ok := libraries[columns[i]]
			if !ok {
				continue
			}
			for _, option := range regexp.MustCompile("`(?:\\w+\\.)*(\\w+)[(=]").FindAllStringSubmatch(cell, -1) {
				found[columns[i]]++
				if !regexp.MustCompile(fmt.Sprintf(library.named, option[1])).MatchString(library.source) {
					t.Errorf("%s has no option %s", columns[i], option[1])
				}
			}
		}
	}
	for language := range libraries {
		if found[language] < 30 {
			t.Errorf("the page names %d options of %s", found[language], language)
		}
	}
}
