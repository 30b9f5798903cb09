package authz

import "unicode/utf8"

const (
	// nameBytesMax is how long a name may be in the text of a need, as it is quoted: the text goes into errors, which clients take in their headers, and
	// into lines of the audit log, and callers without any right may send names of a megabyte.
	nameBytesMax = 256
	// cutMark is at the end of a name that is longer.
	cutMark = "…"
)

// shortName returns a name as policies have it, if it is not too long.
func shortName(name string) string {
	n := fitting(name)
	if n < len(name) {
		return quoted(name[:n]) + cutMark
	}
	return quoted(name)
}

// shortSelector returns a selector as policies have it, if its name is not too long.
func shortSelector(match Match, text string) string {
	switch match {
	case Exact:
		return shortName(text)
	case Prefix:
		return shortName(text) + "*"
	default:
		return selectorText(match, text)
	}
}

// shortened returns a text, or the beginning of a long one.
func shortened(text string) string {
	n := fitting(text)
	if n < len(text) {
		return text[:n] + cutMark
	}
	return text
}

// fitting returns how many bytes of a text fit when they are quoted. It cuts no character, and looks no further than it must.
func fitting(text string) int {
	const escaped = len(`\u0000`)
	length := 0
	for at, r := range text {
		switch {
		case r == '"' || r == '\\':
			length += len(`\"`)
		case r < ' ' || r == utf8.RuneError || r == '\u2028' || r == '\u2029':
			length += escaped
		default:
			length += utf8.RuneLen(r)
		}
		if length > nameBytesMax {
			return at
		}
	}
	return len(text)
}
