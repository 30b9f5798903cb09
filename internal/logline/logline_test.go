package logline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tenure-io/tenure/internal/logline"
)

// logger returns a logger that writes lines of JSON into a buffer, bounded or not.
func logger(wrap func(zapcore.Core) zapcore.Core) (*zap.Logger, *bytes.Buffer) {
	lines := &bytes.Buffer{}
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
	return zap.New(wrap(zapcore.NewCore(encoder, zapcore.AddSync(lines), zap.InfoLevel))), lines
}

// verbose is an error that says more to those who ask for it.
type verbose struct{ text string }

func (v verbose) Error() string { return "short" }

func (v verbose) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, v.text) }

type named string

func (n named) String() string { return string(n) }

// TestNoFieldMakesALineLong writes a megabyte in a field of each kind.
func TestNoFieldMakesALineLong(t *testing.T) {
	long := strings.Repeat("\x01ü", 350_000)
	for name, field := range map[string]zap.Field{
		"text":            zap.String("k", long),
		"bytes of text":   zap.ByteString("k", []byte(long)),
		"bytes":           zap.Binary("k", []byte(long)),
		"error":           zap.Error(errors.New(long)),
		"named error":     zap.NamedError("k", fmt.Errorf("put: %w", errors.New(long))),
		"verbose error":   zap.Error(verbose{long}),
		"stringer":        zap.Stringer("k", named(long)),
		"anything":        zap.Any("k", map[string]string{"a": long}),
		"list":            zap.Strings("k", []string{"a", long}),
		"list of errors":  zap.Errors("k", []error{errors.New(long)}),
		"object":          zap.Dict("k", zap.String("a", long)),
		"stack":           zap.ByteString("stack", []byte(long)),
		"text, by Any":    zap.Any("k", long),
		"many short ones": zap.Strings("k", strings.Split(long, "ü")),
	} {
		t.Run(name, func(t *testing.T) {
			log, lines := logger(logline.Bounded)
			log.Info("message", zap.Int("n", 7), field)
			log.With(field).Info("message", zap.Int("n", 7))
			log.Info(long)
			for line := range bytes.Lines(lines.Bytes()) {
				// A control character takes six bytes.
				if most := 6*logline.StackBytesMax + 1000; len(line) > most {
					t.Errorf("a line is %d bytes long, want at most %d", len(line), most)
				}
				if !json.Valid(line) {
					t.Errorf("not JSON: %.200q", line)
				}
			}
		})
	}
}

// TestLinesThatAreNotLongAreAsTheyWere writes short fields of each kind with a bound and without.
func TestLinesThatAreNotLongAreAsTheyWere(t *testing.T) {
	write := func(wrap func(zapcore.Core) zapcore.Core) string {
		log, lines := logger(wrap)
		log.With(zap.String("with", "w")).Info("message", zap.String("a", strings.Repeat("b", logline.TextBytesMax)),
			zap.ByteString("bytes", []byte("c")), zap.Binary("binary", []byte("d")), zap.Error(errors.New("e")),
			zap.Errors("errors", []error{errors.New("f")}), zap.Stringer("address", &net.TCPAddr{Port: 7}), zap.Any("any", []int{1}),
			zap.Strings("list", []string{"g", "h"}), zap.Dict("object", zap.Int("i", 1)), zap.Duration("took", time.Second),
			zap.Error(verbose{"more"}), zap.Stringer("nil", (*net.TCPAddr)(nil)), zap.Bool("yes", true), zap.Skip(), zap.Namespace("in"))
		log.Debug("not enabled")
		return lines.String()
	}
	got, want := write(logline.Bounded), write(func(c zapcore.Core) zapcore.Core { return c })
	if got != want || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s, want %s", got, want)
	}
}
