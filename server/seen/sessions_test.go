package seen_test

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/seen"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// sessionEvents are those of a session's life, with what a cluster says of it from version 3 on, or before.
func sessionEvents(id []byte, says bool) map[string]*storev1.Event {
	begun := &storev1.SessionBegun{SessionId: id, Name: "api", Node: "N2"}
	taken := &storev1.SessionTakenOver{SessionId: id, Epoch: 2}
	ended := &storev1.SessionEnded{SessionId: id, Name: "api"}
	if says {
		begun.Principal = "token:a"
		taken.Name, taken.Node, taken.Principal = "api", "N2", "token:a"
		ended.Node, ended.Principal = "N2", "token:a"
	}
	return map[string]*storev1.Event{
		"begun":      {Kind: &storev1.Event_SessionBegun{SessionBegun: begun}},
		"taken over": {Kind: &storev1.Event_SessionTakenOver{SessionTakenOver: taken}},
		"ended":      {Kind: &storev1.Event_SessionEnded{SessionEnded: ended}},
	}
}

// sessionsSeen are callers by their rules, and whether they see that session.
var sessionsSeen = map[string]bool{
	`session "api" read`:     true,
	`session "ap"* read`:     true,
	`session "web" read`:     false,
	`session node "n2" read`: true,
	`session node "n1" read`: false,
	`session own read`:       true,
	`session own write`:      true,
	`key * read`:             false,
	"session \"web\" read\n" + `session node "n1" read`: false,
}

// TestEventsOfSessionsSayWhoSeesThem shows the events of a session that nobody knows any more, as it is when its end was long ago. There is no store:
// a look-up would panic.
func TestEventsOfSessionsSayWhoSeesThem(t *testing.T) {
	id := make([]byte, 16)
	for rules, want := range sessionsSeen {
		for what, e := range sessionEvents(id, true) {
			v := &seen.Events{Sight: rightsOf(t, rules), Selectors: watch.Selectors{AllSessions: true}}
			shown, err := v.Show([]*storev1.Event{e})
			if err != nil || len(shown) == 1 != want {
				t.Errorf("%s: sees that it was %s: %v, %v; want %v", rules, what, shown, err, want)
			}
		}
	}
}

// TestOlderEventsOfSessionsAreLookedUp shows the events of a session that a cluster of version 2 has written. Only whoever may see it by what they do not
// say costs a look-up.
func TestOlderEventsOfSessionsAreLookedUp(t *testing.T) {
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "sm"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cerr := store.Close(); cerr != nil {
			t.Error(cerr)
		}
	})
	if err = store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, ClusterVersion: 2}); err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	id[0] = 1
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
		SessionId: id, Name: "api", Node: "N2", Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = store.Apply([]storage.Entry{{Index: 2, Term: 1, Data: data}}); err != nil {
		t.Fatal(err)
	}
	for rules, want := range sessionsSeen {
		if rules == `session own read` || rules == `session own write` {
			want = false // Nothing tells whose it was.
		}
		for what, e := range sessionEvents(id, false) {
			looked := 0
			v := &seen.Events{Sight: rightsOf(t, rules), Selectors: watch.Selectors{AllSessions: true}, Store: func() *storage.Store { looked++; return store }}
			shown, err := v.Show([]*storev1.Event{e, e, e})
			if err != nil || len(shown) == 3 != want {
				t.Errorf("%s: sees that it was %s: %v, %v; want %v", rules, what, shown, err, want)
			}
			if names := rules == `session "web" read` && what != "taken over"; looked > 1 || names && looked > 0 {
				t.Errorf("%s: the store was asked for %d times because it was %s", rules, looked, what)
			}
		}
	}
}
