package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watchLine is what these tests read of a line.
type watchLine struct {
	ResumeToken string
	Header      struct{ Revision string }
	Events      struct {
		Events []struct {
			Key, Revision string
			Index         int
		}
		More bool
	}
}

// eventLines returns the lines of a watch that carry an event.
func eventLines(t *testing.T, body string) []watchLine {
	t.Helper()
	var lines []watchLine
	for text := range strings.Lines(body) {
		var line watchLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		if n := len(line.Events.Events); n > 1 {
			t.Fatalf("line has %d events: %s", n, text)
		} else if n == 1 {
			lines = append(lines, line)
		}
	}
	return lines
}

// watchUntil watches over REST for a short time, and again for a longer one until enough came: a slow machine may not have
// sent everything before the time is up.
func (m *wholeMember) watchUntil(t *testing.T, query string, enough func(body string) bool) {
	t.Helper()
	for wait := 100 * time.Millisecond; ; wait *= 4 {
		code, body := m.do(t, "GET", "/v1/watch?"+query+"&wait="+wait.String(), "")
		if code != http.StatusOK {
			t.Fatalf("watch: %d %s", code, body)
		}
		if enough(string(body)) {
			return
		}
		if wait > patience {
			t.Fatalf("a watch of %v brought only this: %s", wait, body)
		}
	}
}

// TestWatchOverRESTCanBeResumedAfterEachLine watches a change of many keys, which the service sends as one message, and
// goes on after each of its lines.
func TestWatchOverRESTCanBeResumedAfterEachLine(t *testing.T) {
	m := newWholeMember(t)
	const keys = 5
	for i := range keys {
		if code, body := m.do(t, "PUT", fmt.Sprintf("/v1/kv/job/%d", i), "x"); code != http.StatusOK {
			t.Fatalf("put: %d %s", code, body)
		}
	}
	if _, err := m.kv.DeletePrefix(t.Context(), &tenurev1.DeletePrefixRequest{Prefix: "job/"}); err != nil {
		t.Fatal(err)
	}
	watch := func(start string, want int) (lines []watchLine) {
		t.Helper()
		m.watchUntil(t, "prefixes=job/&limit=100&"+start, func(body string) bool {
			lines = eventLines(t, body)
			return len(lines) >= want
		})
		return lines
	}
	all := watch("afterRevision=1", keys-1+keys)
	// The first put is revision 1; the other puts and all deletes follow.
	if len(all) != keys-1+keys {
		t.Fatalf("got %d events, want %d", len(all), keys-1+keys)
	}
	for i, line := range all {
		rest := watch("resumeToken="+url.QueryEscape(line.ResumeToken), len(all)-i-1)
		if len(rest) != len(all)-i-1 {
			t.Fatalf("after line %d: %d events, want %d", i, len(rest), len(all)-i-1)
		}
		for j, again := range rest {
			if want := all[i+1+j]; again.Events.Events[0] != want.Events.Events[0] {
				t.Errorf("after line %d: got %v, want %v", i, again, want)
			}
		}
		inside := i < len(all)-1 && all[i+1].Events.Events[0].Revision == line.Events.Events[0].Revision
		if line.Events.More != inside {
			t.Errorf("line %d: more is %v, want %v", i, line.Events.More, inside)
		}
	}
}
