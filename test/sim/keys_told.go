package sim

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/test/check"
)

// untold returns how the keys at the end, when no session lives any more, are not those that the events tell of; empty: they are.
func untold(events []*check.Event, keys []*storev1.KeyState) string {
	told := map[string]*check.Event{}
	for _, e := range events {
		switch e.Kind {
		case "key_put":
			told[e.Key] = e
		case "key_deleted":
			delete(told, e.Key)
		}
	}
	for _, k := range keys {
		e := told[k.GetKey()]
		switch {
		case len(k.GetBoundSessionId()) > 0:
			return fmt.Sprintf("key %s is still bound to session %s", k.GetKey(), check.SessionText(k.GetBoundSessionId()))
		case e == nil:
			return fmt.Sprintf("key %s is there, and no event says so", k.GetKey())
		case string(k.GetValue()) != e.Value || k.GetModRevision() != e.Revision || k.GetVersion() != e.Version || k.GetCreateRevision() != e.CreateRevision:
			return fmt.Sprintf("key %s is %v, and the last event of it says %+v", k.GetKey(), k, *e)
		}
	}
	if len(keys) != len(told) {
		return fmt.Sprintf("there are %d keys, and events tell of %d", len(keys), len(told))
	}
	return ""
}
