package conformance_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// codeOf names the tests that run the code of docs/coming-from.md, by language. That in Python is run from the page.
var codeOf = map[string]string{
	"go":   "../go/coming_from_test.go",
	"java": "../java/src/test/java/io/tenure/ComingFromTest.java",
}

// TestThePageForThoseWhoComeFromElsewhereShowsWhatIsTested demands that each block of code for Tenure stands in a test, line by line.
func TestThePageForThoseWhoComeFromElsewhereShowsWhatIsTested(t *testing.T) {
	page, err := os.ReadFile("../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, file := range codeOf {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```"+language+"\n// Tenure\n(.*?)```").FindAllStringSubmatch(string(page), -1)
		if len(blocks) == 0 {
			t.Errorf("the page has no code in %s", language)
		}
		for _, block := range blocks {
			if !strings.Contains(bare(string(source)), bare(block[1])) {
				t.Errorf("this is not in %s:\n%s", file, block[1])
			}
		}
	}
}

// bare returns code without indentation, empty lines and remarks to linters.
func bare(code string) string {
	var lines strings.Builder
	for line := range strings.Lines(code) {
		line, _, _ = strings.Cut(line, " //nolint")
		if line = strings.TrimSpace(line); line != "" {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}
