package seen_test

import (
	"testing"

	"github.com/tenure-io/tenure/server/seen"
)

// TestAllServicesAreLookedForWhereThereIsLess has callers with few nodes or few services.
func TestAllServicesAreLookedForWhereThereIsLess(t *testing.T) {
	for rules, want := range map[string]bool{
		"service * read\nnode \"n1\" read":                        true,
		"service * read\nnode \"n\"* read":                        true,
		"service * read":                                          true,
		"service \"w\"* read\nnode \"n1\" read\nnode \"n2\" read": true,
		"service \"web\" read\nnode \"n\"* read":                  false,
		"service \"web\" read\nnode * read":                       false,
	} {
		if got := seen.NodesFirst(rightsOf(t, rules)); got != want {
			t.Errorf("%q: nodes first: %v, want %v", rules, got, want)
		}
	}
}
