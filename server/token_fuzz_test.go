package server

import (
	"reflect"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/selection"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// damaged returns a text with one byte changed.
func damaged(text string, at uint, by byte) string {
	if text == "" {
		return ""
	}
	b := []byte(text)
	b[at%uint(len(b))] ^= by
	return string(b)
}

// FuzzPageToken checks that a page token is taken only where it was made: for the same list, filters and history.
func FuzzPageToken(f *testing.F) {
	at := storage.Applied{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}}
	f.Add("", "k", "keys", "a", "keys", "b", uint(3), byte(1))
	f.Add(call.PageQuery{List: "keys", Filters: []string{"a"}}.Token(at, "k"), "", "keys", "a", "key", "sa", uint(60), byte(2))
	f.Add("AQ", "a\x00", "sessions", "", "", "sessions", uint(0), byte(0xff))
	f.Add("A\nQ==", "\xff", "", "", "locks", "", uint(9), byte(32))
	f.Fuzz(func(t *testing.T, forged, after, list, filter, otherList, otherFilter string, place uint, by byte) {
		q := call.PageQuery{List: list, Filters: []string{filter}}
		good := q.Token(at, after)
		if got, err := q.After(at, good); err != nil || got != after {
			t.Fatalf("own token: got %q, %v, want %q", got, err, after)
		}
		other := call.PageQuery{List: otherList, Filters: []string{otherFilter}}
		restored := at
		restored.HistoryID[0]++
		for what, text := range map[string]string{
			"forged": forged, "damaged": damaged(good, place, by), "made for another list": other.Token(at, after),
			"with more behind": good + forged, "made in another history": q.Token(restored, after),
			"with a line end": good + "\n",
		} {
			got, err := q.After(at, text)
			if err != nil {
				if reason.Of(err).Reason != tenurev1.ErrorReason_ERROR_REASON_PAGE_TOKEN_INVALID {
					t.Errorf("%s: got %v, want PAGE_TOKEN_INVALID", what, err)
				}
			} else if text != "" && text != q.Token(at, got) {
				t.Errorf("%s: %q is taken for %q", what, text, got)
			}
		}
	})
}

// FuzzResumeToken checks that a resume token is taken only for a watch of the same things in the same history.
func FuzzResumeToken(f *testing.F) {
	history := [16]byte{3}
	f.Add("", "a", "b", "a", "b", uint64(7), uint32(0), uint(2), byte(1))
	f.Add(selection.NewResumer(history, watch.Selectors{Keys: []string{"a"}}.Normal()).Token(watch.Position{Revision: 1}),
		"a", "", "", "a", uint64(1), uint32(watch.Whole), uint(50), byte(4))
	f.Add("AQAA", "\x00", "\x01\x00", "\x00\x01", "", uint64(1<<63), uint32(1), uint(1), byte(0x80))
	f.Fuzz(func(t *testing.T, forged, key, prefix, otherKey, otherPrefix string, revision uint64, index uint32, place uint, by byte) {
		selectors := watch.Selectors{Keys: []string{key}, Prefixes: []string{prefix}, Locks: []string{key, prefix}}.Normal()
		others := watch.Selectors{Keys: []string{otherKey}, Prefixes: []string{otherPrefix}, Locks: []string{otherKey, otherPrefix}}.Normal()
		if same := reflect.DeepEqual(selectors, others); same != (selectors.Key() == others.Key()) {
			t.Fatalf("%v and %v: equal is %v, their keys say otherwise", selectors, others, same)
		}
		resume := selection.NewResumer(history, selectors)
		position := watch.Position{Revision: revision, Index: index}
		good := resume.Token(position)
		if got, err := resume.Position(good); err != nil || got != position {
			t.Fatalf("own token: got %v, %v, want %v", got, err, position)
		}
		for what, text := range map[string]string{
			"forged": forged, "damaged": damaged(good, place, by), "with more behind": good + forged,
			"with a line end":        "\r" + good,
			"made for another watch": selection.NewResumer(history, others).Token(position),
		} {
			got, err := resume.Position(text)
			if err != nil {
				if reason.Of(err).Reason != tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID {
					t.Errorf("%s: got %v, want RESUME_TOKEN_INVALID", what, err)
				}
			} else if text != resume.Token(got) {
				t.Errorf("%s: %q is taken for %v", what, text, got)
			}
		}
		_, err := selection.NewResumer([16]byte{4}, selectors).Position(good)
		if err == nil || reason.Of(err).Reason != tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED {
			t.Errorf("in another history: got %v, want HISTORY_CHANGED", err)
		}
	})
}
