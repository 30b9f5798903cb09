package sim

import (
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/test/check"
)

func TestKeysAtTheEndAreThoseThatEventsTellOf(t *testing.T) {
	events := []*check.Event{
		{Revision: 1, Kind: "key_put", Key: "a", Value: "1", CreateRevision: 1, Version: 1},
		{Revision: 2, Kind: "key_put", Key: "b", Value: "2", CreateRevision: 2, Version: 1},
		{Revision: 3, Kind: "key_deleted", Key: "b"},
	}
	key := func(name, value string, revision uint64) *storev1.KeyState {
		return &storev1.KeyState{Key: name, Value: []byte(value), CreateRevision: revision, ModRevision: revision, Version: 1}
	}
	bound := key("a", "1", 1)
	bound.BoundSessionId = []byte{1}
	for name, tt := range map[string]struct {
		keys []*storev1.KeyState
		want string
	}{
		"all as told":                     {[]*storev1.KeyState{key("a", "1", 1)}, ""},
		"a key that is gone":              {nil, "there are 0 keys, and events tell of 1"},
		"a key that was deleted":          {[]*storev1.KeyState{key("a", "1", 1), key("b", "2", 2)}, "key b is there, and no event says so"},
		"another value":                   {[]*storev1.KeyState{key("a", "3", 1)}, "the last event of it says"},
		"another revision":                {[]*storev1.KeyState{key("a", "1", 2)}, "the last event of it says"},
		"a key of a session that is gone": {[]*storev1.KeyState{bound}, "key a is still bound to session 01"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := untold(events, tt.keys); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
