package reason

import "unicode/utf8"

// echoBytesMax is how much of what a client sent an error repeats, counted as it travels: what is not printable ASCII takes
// up to four characters for a byte. Clients of some languages bound all trailers of a call together.
const echoBytesMax = 256

// messageBytesMax bounds the whole text of an error, counted in the same way.
const messageBytesMax = 1024

// escapedBytes is how long a byte may become.
const escapedBytes = 4

// short returns the beginning of a text that takes at most bytesMax when it is escaped, and a mark where it is cut.
func short(text string, bytesMax int) string {
	const mark = "..."
	length, cut := 0, 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		if c := text[at]; c < ' ' || c > '~' {
			length += escapedBytes * size
		} else if length++; c == '"' || c == '\\' || c == '%' {
			length += 2
		}
		if length > bytesMax {
			return text[:cut] + mark
		}
		at += size
		if length <= bytesMax-len(mark) {
			cut = at
		}
	}
	return text
}

// fact returns the value of a fact of an error. All but keys are ours, or short.
func fact(name, value string) string {
	if name == "key" {
		return short(value, echoBytesMax)
	}
	return value
}

// echoed returns the arguments of an error's text, none of them longer than an error may repeat.
func echoed(args []any) []any {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = short(arg, echoBytesMax)
		case []byte:
			args[i] = short(string(arg), echoBytesMax)
		case error:
			args[i] = short(arg.Error(), echoBytesMax)
		}
	}
	return args
}
