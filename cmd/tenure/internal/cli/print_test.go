package cli

import (
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestPrintable(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain text stays":                {"service/leader é 世", "service/leader é 世"},
		"a line break is escaped":         {"a\nb", `a\nb`},
		"a terminal sequence is escaped":  {"\x1b[31m", `\x1b[31m`},
		"a bell and a zero are escaped":   {"\a\x00", `\a\x00`},
		"a backslash is not taken for it": {`a\nb`, `a\\nb`},
		"bytes that are no text":          {"\xff\xfe", `\xff\xfe`},
		"text that runs backwards":        {"\u202eabc", `\u202eabc`},
		"invisible characters":            {"a\u200bb", `a\u200bb`},
		"a real replacement character":    {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Printable(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Whoever may lock a key and not read it is told who holds it, and not since when.
func TestAHolderIsToldWithoutWhatIsNotKnown(t *testing.T) {
	hold := &tenurev1.Hold{SessionName: "a", Sequencer: &tenurev1.Sequencer{SessionId: "s"}}
	if got, want := HolderText(hold), `held by "a" (session s)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	hold.GrantTime = timestamppb.Now()
	if got, want := HolderText(hold), `held by "a" (session s) since `+Moment(hold.GetGrantTime()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
