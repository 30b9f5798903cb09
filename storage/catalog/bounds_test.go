package catalog_test

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
)

// The server sorts what callers give in any order, so what they are told must be true of that.
func TestWhatIsGivenTwiceIsSaidToBe(t *testing.T) {
	tests := map[string]struct {
		names []string
		want  string
	}{
		"sorted, each once":  {[]string{"a", "b"}, ""},
		"one of them twice":  {[]string{"a", "a"}, "must each be given only once"},
		"in a command only":  {[]string{"b", "a"}, "must be sorted"},
		"sorted and a third": {[]string{"a", "b", "b"}, "must each be given only once"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service := &storev1.Service{ServiceId: "s", Name: "s", Tags: test.names}
			for field, err := range map[string]error{
				"checks": catalog.CheckBoundChecks(test.names),
				"tags":   catalog.CheckService(service),
			} {
				got, want := "", ""
				if err != nil {
					got = err.Error()
				}
				if test.want != "" {
					want = field + ": " + test.want
				}
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}
