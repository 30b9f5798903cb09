package watch

import (
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestTypesOfEventsHaveOneNameEach(t *testing.T) {
	names := map[string]bool{}
	for number := range tenurev1.EventType_name {
		name := eventType(&tenurev1.Event{Type: tenurev1.EventType(number)})
		if names[name] || name != strings.ToLower(name) || strings.ContainsAny(name, " _") {
			t.Errorf("%s is not a name of its own", name)
		}
		names[name] = true
	}
}
