package access

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAWatchOfAPartShowsWhatAListShows starts watches of a part as callers that may list keys and not watch them.
func TestAWatchOfAPartShowsWhatAListShows(t *testing.T) {
	const mixed = "key \"a/\"* ro\nkey \"b/\"* list read\nkey \"c/\"* list\nkey \"d/\"* read watch\n"
	under := func(prefixes ...string) *tenurev1.WatchRequest { return &tenurev1.WatchRequest{Prefixes: prefixes} }
	between := func(start, end string) *tenurev1.WatchRequest {
		return &tenurev1.WatchRequest{RangeStart: start, RangeEnd: end}
	}
	locks := func(prefix string) *tenurev1.WatchRequest {
		return &tenurev1.WatchRequest{LockPrefixes: []string{prefix}}
	}
	const values, names = false, true
	for name, c := range map[string]struct {
		rules    string
		watch    *tenurev1.WatchRequest
		keysOnly bool
		needs    string // that are missing; empty: it is not refused
	}{
		"keys that may not be watched":                 {mixed, under(""), values, `key "b/"* watch`},
		"no selector":                                  {mixed, &tenurev1.WatchRequest{}, values, `key "b/"* watch`},
		"keys of which the prefix is a part":           {mixed, under("b/1"), values, `key "b/1"* watch`},
		"of several prefixes":                          {mixed, under("a/", "b"), values, `key "b/"* watch`},
		"a prefix that has none":                       {mixed, under("a"), values, ""},
		"keys that may only be listed":                 {mixed, under("c"), values, ""},
		"the same where their names are shown":         {mixed, under("c"), names, `key "c/"* read watch`},
		"keys that may not be listed":                  {mixed, under("d"), names, ""},
		"a range":                                      {mixed, between("a/5", "b/1"), values, `key "b/"* watch`},
		"a range of one of them":                       {mixed, between("b/1", "b/1\x00"), values, `key "b/1"* watch`},
		"a range behind them":                          {mixed, between("b0", "z"), values, ""},
		"a range before them":                          {mixed, between("a/", "b/"), values, ""},
		"locks":                                        {mixed, locks(""), values, `key "b/"* watch`},
		"all that may be listed":                       {"key * list read", under(""), values, `key * watch`},
		"all, of which some may be watched":            {"key * list read\nkey \"a/\"* watch", under(""), values, `key * watch`},
		"the same below these":                         {"key * list read\nkey \"a/\"* watch", under("a/"), values, ""},
		"the same in a range of these":                 {"key * list read\nkey \"a/\"* watch", between("a/1", "a/2"), values, ""},
		"a range that is larger than what is watched":  {"key * list read\nkey \"a/\"* watch", between("a/1", "b"), values, `key "a"* watch`},
		"one key, which may not be watched":            {"key \"k\" list read\nkey \"a\" ro", under(""), values, `key "k" watch`},
		"one key in a range":                           {"key \"k\" list read\nkey \"a\" ro", between("a", "z"), values, `key "k" watch`},
		"one key behind a range":                       {"key \"k\" list read\nkey \"a\" ro", between("a", "k"), values, ""},
		"nothing that may be listed":                   {"node * read", under(""), values, ""},
		"more watched than listed":                     {"key * watch\nkey \"a/\"* list read", under(""), values, ""},
		"a watch that names what it may watch besides": {mixed, &tenurev1.WatchRequest{Keys: []string{"a/1"}, Prefixes: []string{"a"}}, values, ""},
	} {
		node, a, caller := ruled(t, authEnforce, c.rules)
		ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
		c.watch.VisibleOnly = true
		if err := stream.Message(ctx, c.watch); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := node.store.NewReader()
		at, err := s.Applied()
		if err != nil {
			t.Fatal(err)
		}
		_, err = See(ctx, s, at, c.keysOnly)
		if e := reason.Of(err); c.needs == "" && err != nil ||
			c.needs != "" && (e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED || e.Metadata["needs"] != c.needs) {
			t.Errorf("%s: got %v, want that it lacks %q", name, err, c.needs)
		}
		if err = s.Close(); err != nil {
			t.Fatal(err)
		}
		stream.Close()
	}
}
