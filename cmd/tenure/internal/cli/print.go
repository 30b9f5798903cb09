package cli

import (
	"bytes"
	"context"
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

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// JSON tells whether the user wants JSON.
func (e *Environment) JSON() bool { return e.Output == OutputJSON }

// PrintDocument prints a message as one indented JSON document.
func (e *Environment) PrintDocument(m proto.Message) error {
	raw, err := marshal(m)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err = json.Indent(&out, raw, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = e.Stdout.Write(out.Bytes())
	return err
}

// JSONLine returns a message as one line of JSON, line break included.
func JSONLine(m proto.Message) ([]byte, error) {
	raw, err := marshal(m)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// PrintLine prints a message as one line of JSON.
func (e *Environment) PrintLine(m proto.Message) error {
	line, err := JSONLine(m)
	if err != nil {
		return err
	}
	_, err = e.Stdout.Write(line)
	return err
}

// Printf prints text for people to stdout.
func (e *Environment) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Stdout, format, args...)
	return err
}

// Notef prints one line for people to stderr.
func (e *Environment) Notef(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, format+"\n", args...)
}

// progressPause is how much time lies at least between two lines about a long work.
const progressPause = 5 * time.Second

// Mebibyte is the unit in which people are told of bytes.
const Mebibyte = 1 << 20

// Progress returns a function that takes how much more was done of a long work, and tells people now and then, in units of so much.
func (e *Environment) Progress(unit int, done string) func(more int) {
	total, last := 0, time.Now()
	return func(more int) {
		total += more
		if time.Since(last) < progressPause {
			return
		}
		last = time.Now()
		e.Notef("%d %s; Ctrl-C stops it.", total/unit, done)
	}
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Told returns a reader that tells people now and then how much of r was read, and fails with ctx's error once ctx has ended.
func (e *Environment) Told(ctx context.Context, r io.Reader, done string) io.Reader {
	tell := e.Progress(Mebibyte, "MiB "+done)
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		tell(n)
		return n, err
	})
}

// Counted returns how many there are of a thing: "1 key", "2 keys".
func Counted[N int | uint32 | uint64](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// PrintTable prints rows in columns.
func (e *Environment) PrintTable(rows [][]string) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Printable returns text that a terminal shows and does not obey: control characters, invisible ones and bytes that are not
// UTF-8 are escaped as in Go, and so is the backslash, so that no two texts look the same.
func Printable(text string) string {
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

// Quoted returns printable text in quotes.
func Quoted(text string) string { return `"` + Printable(text) + `"` }

// IsTerminal tells whether people look at a stream.
func IsTerminal(stream io.Writer) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Moment returns a point in time for people, in their zone.
func Moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return "an unknown time"
	}
	return t.AsTime().Local().Format(time.RFC3339)
}

// Length returns a duration for people.
func Length(d *durationpb.Duration) string {
	switch v := d.AsDuration(); {
	case v >= time.Second:
		return v.Round(100 * time.Millisecond).String()
	default:
		return v.Round(time.Millisecond).String()
	}
}

// LengthOrNone is length, with a word for zero.
func LengthOrNone(d *durationpb.Duration) string {
	if d.AsDuration() == 0 {
		return "none"
	}
	return Length(d)
}

// OrDash returns printable text, or a dash for none.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return Printable(text)
}
