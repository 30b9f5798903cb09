package reason

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLongTextsAreCutByTheirEscapedLength(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a short text stays":             {"jobs/nightly", "jobs/nightly"},
		"one of the bound's length, too": {strings.Repeat("k", 256), strings.Repeat("k", 256)},
		"a longer one is cut":            {strings.Repeat("k", 1000), strings.Repeat("k", 253) + "..."},
		"control characters count more":  {strings.Repeat("\x01", 256), strings.Repeat("\x01", 63) + "..."},
		"a rune is never cut":            {strings.Repeat("€", 256), strings.Repeat("€", 21) + "..."},
		"nor are bytes that are none":    {strings.Repeat("\xff", 256), strings.Repeat("\xff", 63) + "..."},
	} {
		got := short(tc.text, 256)
		if got != tc.want || utf8.ValidString(tc.text) != utf8.ValidString(got) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
		if n := len(strconv.Quote(got)); n > 256+len(`"..."`) {
			t.Errorf("%s: quoted it has %d bytes", name, n)
		}
	}
}
