package cli

import "testing"

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
