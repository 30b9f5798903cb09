package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// json tells whether the user wants JSON.
func (e *environment) json() bool { return e.output == outputJSON }

// printDocument prints a message as one indented JSON document.
func (e *environment) printDocument(m proto.Message) error {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	// protojson varies its white space on purpose.
	if err = json.Indent(&out, raw, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = e.stdout.Write(out.Bytes())
	return err
}

// jsonLine returns a message as one line of JSON, line break included.
func jsonLine(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// printLine prints a message as one line of JSON.
func (e *environment) printLine(m proto.Message) error {
	line, err := jsonLine(m)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(line)
	return err
}

// printf prints text for people to stdout.
func (e *environment) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.stdout, format, args...)
	return err
}

// notef prints one line for people to stderr.
func (e *environment) notef(format string, args ...any) {
	_, _ = fmt.Fprintf(e.stderr, format+"\n", args...)
}

// progressEveryBytes and progressPause are how much work, and how much time, lies between two lines about it.
const (
	progressEveryBytes = 64 << 20
	progressPause      = 5 * time.Second
)

// progress returns a function that takes how many bytes more were done of a long work, and tells people now and then.
func (e *environment) progress(done string) func(bytes int) {
	total, next, last := 0, progressEveryBytes, time.Now()
	return func(bytes int) {
		total += bytes
		if total < next || time.Since(last) < progressPause {
			return
		}
		next, last = total+progressEveryBytes, time.Now()
		e.notef("%d MiB %s; Ctrl-C gives it up.", total>>20, done)
	}
}

// printTable prints rows in columns.
func (e *environment) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// printable returns text that a terminal shows and does not obey: control characters, invisible ones and bytes that are not
// UTF-8 are escaped as in Go, and so is the backslash, so that no two texts look the same.
func printable(text string) string {
	plain := true
	for _, r := range text {
		if r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case r == '\\':
			out = append(out, '\\', '\\')
		case unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		default:
			escaped := strconv.AppendQuoteRuneToASCII(nil, r)
			out = append(out, escaped[1:len(escaped)-1]...)
		}
		text = text[size:]
	}
	return string(out)
}

// quoted returns printable text in quotes.
func quoted(text string) string { return `"` + printable(text) + `"` }

// isTerminal tells whether people look at a stream.
func isTerminal(stream io.Writer) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// moment returns a point in time for people, in their zone.
func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return "an unknown time"
	}
	return t.AsTime().Local().Format(time.RFC3339)
}

// length returns a duration for people.
func length(d *durationpb.Duration) string {
	switch v := d.AsDuration(); {
	case v >= time.Second:
		return v.Round(100 * time.Millisecond).String()
	default:
		return v.Round(time.Millisecond).String()
	}
}

// lengthOrNone is length, with a word for zero.
func lengthOrNone(d *durationpb.Duration) string {
	if d.AsDuration() == 0 {
		return "none"
	}
	return length(d)
}
