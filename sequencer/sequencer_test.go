package sequencer_test

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

const (
	session = "5f0c1d5e-8d7a-4a5b-9a39-0d3a5a3f2b11"
	history = "0123456789abcdef0123456789abcdef"
)

func TestTextOfASequencerIsFixed(t *testing.T) {
	text, err := sequencer.Format(&tenurev1.Sequencer{
		Key: "service/leader", LockIndex: 3, SessionId: session, FencingToken: 42, HistoryId: history,
	})
	want := "v1.c2VydmljZS9sZWFkZXI.3." + session + ".42." + history
	if err != nil || text != want {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
}

func TestTextSurvivesTheWayThereAndBack(t *testing.T) {
	for name, s := range map[string]*tenurev1.Sequencer{
		"a key with slashes, dots and spaces": {Key: "/a/../b. c?%2F", LockIndex: 1, FencingToken: 1},
		"a key with control characters":       {Key: "a\x00\n\x1b[31m", LockIndex: 7, FencingToken: 9},
		"the longest key, largest numbers":    {Key: strings.Repeat("é", 512), LockIndex: math.MaxUint64, FencingToken: math.MaxUint64},
		"no history":                          {Key: "k", LockIndex: 1, FencingToken: 2, HistoryId: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			s.SessionId = session
			switch s.GetHistoryId() {
			case "-":
				s.HistoryId = ""
			default:
				s.HistoryId = history
			}
			text, err := sequencer.Format(s)
			if err != nil {
				t.Fatal(err)
			}
			if escaped := url.PathEscape(text); escaped != text {
				t.Errorf("text %q needs escaping in a URL", text)
			}
			got, err := sequencer.Parse(text)
			if err != nil || !proto.Equal(got, s) {
				t.Errorf("got %v, %v; want %v", got, err, s)
			}
		})
	}
}

func TestParseRefusesWhatFormatWouldNotWrite(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                       "",
		"another format":                "v2.aw.1." + session + ".1." + history,
		"a part too few":                "v1.aw.1." + session + ".1",
		"a part too many":               "v1.aw.1." + session + ".1." + history + ".",
		"an empty key":                  "v1..1." + session + ".1." + history,
		"a key with padding":            "v1.aw==.1." + session + ".1." + history,
		"a key with loose bits":         "v1.ax.1." + session + ".1." + history,
		"a key with a line break":       "v1.a\nw.1." + session + ".1." + history,
		"a key that is not UTF-8":       "v1._w.1." + session + ".1." + history,
		"a key that is too long":        "v1." + strings.Repeat("YWFh", 342) + ".1." + session + ".1." + history,
		"a very long text":              "v1." + strings.Repeat("YWFh", 1000) + ".1." + session + ".1." + history,
		"a lock index of zero":          "v1.aw.0." + session + ".1." + history,
		"a lock index with zero before": "v1.aw.01." + session + ".1." + history,
		"a signed lock index":           "v1.aw.+1." + session + ".1." + history,
		"a token of zero":               "v1.aw.1." + session + ".0." + history,
		"a token beyond 64 bits":        "v1.aw.1." + session + ".18446744073709551616." + history,
		"a session in capitals":         "v1.aw.1." + strings.ToUpper(session) + ".1." + history,
		"a session that is no UUID":     "v1.aw.1.x.1." + history,
		"a short history":               "v1.aw.1." + session + ".1.0123",
		"a history in capitals":         "v1.aw.1." + session + ".1." + strings.ToUpper(history),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := sequencer.Parse(text); !errors.Is(err, sequencer.ErrMalformed) {
				t.Errorf("got %v, %v; want %v", got, err, sequencer.ErrMalformed)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("v1.aw.1." + session + ".1." + history)
	f.Add("v1.aw.1." + session + ".1.")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sequencer.Parse(text)
		if err != nil {
			return
		}
		if again, err := sequencer.Format(s); err != nil || again != text {
			t.Errorf("got %q, %v; want %q", again, err, text)
		}
	})
}
