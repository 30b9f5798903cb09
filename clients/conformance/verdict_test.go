package conformance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/clients/conformance/driver"
)

func TestOnlyWhoMayLackAFeatureIsExcused(t *testing.T) {
	lack := func(feature string) error { return fmt.Errorf("step: %w", &driver.LackError{Feature: feature}) }
	tests := map[string]struct {
		language string
		err      error
		want     string
	}{
		"what ends without error passes":                 {"go", nil, passed},
		"an error fails":                                 {"go", errors.New("no reply"), failed},
		"a blocking call in Python cannot be cancelled":  {"python", lack("cancel"), lacked},
		"an asyncio agent that forgot to cancel fails":   {"python-asyncio", lack("cancel"), failed},
		"a Java agent that forgot to cancel fails":       {"java", lack("cancel"), failed},
		"Java does not fork":                             {"java", lack("fork"), lacked},
		"a Python agent that forgot to fork fails":       {"python", lack("fork"), failed},
		"what nobody may lack fails in every language":   {"go", lack("levitate"), failed},
		"a language that is in no table is not excused":  {"cobol", lack("fork"), failed},
		"a skip by any other error is a failure as well": {"java", errors.New("skipped: fork"), failed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := verdict(test.language, test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheTableIsWideEnoughForAnyName(t *testing.T) {
	long := strings.Repeat("a very long name ", 10)
	s := &driver.Scenario{Name: long, File: "locks.yaml"}
	got := strings.Split(table([]result{
		{scenario: s, language: "python-asyncio", outcome: passed, took: 123400 * time.Millisecond},
		{scenario: s, language: "go", outcome: lacked, took: time.Second},
	}, []string{"python-asyncio", "go"}), "\n")
	want := []string{
		"| go             | python-asyncio | scenario",
		"| -              | pass 123.4 s   | locks: " + long,
		"| 0 / 0 / 1      | 1 / 0 / 0      | 1 scenarios: pass / FAIL / -",
	}
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
