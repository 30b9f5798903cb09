package proof_test

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestTheComparisonFindsWhatItMustFind plants the faults that a watch must not have.
func TestTheComparisonFindsWhatItMustFind(t *testing.T) {
	event := func(revision uint64, index uint32, key string) *tenurev1.Event {
		return &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_PUT, Revision: revision, Index: index, Key: key}
	}
	history := []*tenurev1.Event{event(2, 0, "a"), event(3, 0, "b"), event(3, 1, "a"), event(5, 0, "a")}
	right := []*tenurev1.Event{history[0], history[2], history[3]}
	tests := map[string]struct {
		segment segment
		fails   bool
	}{
		"everything":              {segment{1, right, []mark{{2, 1}, {4, 2}, {6, 3}}}, false},
		"a start in the middle":   {segment{3, right[2:], []mark{{3, 0}, {5, 1}}}, false},
		"a cut before the end":    {segment{1, right[:2], []mark{{4, 2}}}, false},
		"an event is missing":     {segment{1, []*tenurev1.Event{right[0], right[2]}, []mark{{5, 2}}}, true},
		"the last is missing":     {segment{1, right[:2], []mark{{5, 2}}}, true},
		"an event comes twice":    {segment{1, []*tenurev1.Event{right[0], right[0], right[1], right[2]}, []mark{{5, 4}}}, true},
		"one was not selected":    {segment{1, history, []mark{{5, 4}}}, true},
		"progress is ahead":       {segment{1, right, []mark{{3, 1}, {5, 3}}}, true},
		"progress ahead at last":  {segment{1, right, []mark{{5, 2}, {5, 3}}}, true},
		"half a revision is lost": {segment{1, []*tenurev1.Event{right[0]}, []mark{{3, 1}}}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := &follower{selectors: &tenurev1.WatchRequest{Keys: []string{"a"}}, segments: []*segment{&tc.segment}}
			if err := f.compare(history); (err != nil) != tc.fails {
				t.Errorf("got %v, want a failure: %v", err, tc.fails)
			}
		})
	}
	f := &follower{segments: []*segment{{start: 1}}}
	again := &tenurev1.WatchResponse{Header: &tenurev1.ResponseHeader{Revision: 5}, Message: &tenurev1.WatchResponse_Events{
		Events: &tenurev1.WatchEvents{Events: right},
	}}
	if err := f.take(again); err != nil {
		t.Errorf("the first time: %v", err)
	}
	if err := f.take(again); err == nil {
		t.Error("the same events were taken twice")
	}
}
