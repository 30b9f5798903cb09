package sequencer

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ErrMalformed says that a text is not one that Format writes.
var ErrMalformed = errors.New("malformed sequencer")

// Limits of a sequencer's parts, by which Parse refuses a text before it decodes it.
const (
	keyBytesMax  = 1024
	textBytesMax = 2048
	historyBytes = 16
)

const (
	format = "v1"
	parts  = 6
)

// Format returns the text of a sequencer, or an error if a part of it cannot be right.
func Format(s *tenurev1.Sequencer) (string, error) {
	if err := check(s); err != nil {
		return "", err
	}
	return strings.Join([]string{
		format,
		base64.RawURLEncoding.EncodeToString([]byte(s.GetKey())),
		strconv.FormatUint(s.GetLockIndex(), 10),
		s.GetSessionId(),
		strconv.FormatUint(s.GetFencingToken(), 10),
		s.GetHistoryId(),
	}, "."), nil
}

// Parse returns the sequencer of a text. Its errors wrap ErrMalformed.
func Parse(text string) (*tenurev1.Sequencer, error) {
	if len(text) > textBytesMax {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, textBytesMax)
	}
	fields := strings.Split(text, ".")
	if len(fields) != parts {
		return nil, fmt.Errorf("%w: %d parts, want %d", ErrMalformed, len(fields), parts)
	}
	if fields[0] != format {
		return nil, fmt.Errorf("%w: unknown format %q", ErrMalformed, fields[0])
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(fields[1])
	if err != nil || base64.RawURLEncoding.EncodeToString(key) != fields[1] { // The decoder skips line breaks.
		return nil, fmt.Errorf("%w: the key is not base64url", ErrMalformed)
	}
	lockIndex, err := parseNumber("lock index", fields[2])
	if err != nil {
		return nil, err
	}
	token, err := parseNumber("fencing token", fields[4])
	if err != nil {
		return nil, err
	}
	s := &tenurev1.Sequencer{
		Key:          string(key),
		LockIndex:    lockIndex,
		SessionId:    fields[3],
		FencingToken: token,
		HistoryId:    fields[5],
	}
	if err := check(s); err != nil {
		return nil, err
	}
	return s, nil
}

// parseNumber reads a decimal number without sign or leading zeros.
func parseNumber(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%w: the %s %q is not a number", ErrMalformed, what, text)
	}
	return n, nil
}

// check refuses a sequencer that no member would have made.
func check(s *tenurev1.Sequencer) error {
	switch key := s.GetKey(); {
	case key == "":
		return fmt.Errorf("%w: the key is empty", ErrMalformed)
	case len(key) > keyBytesMax:
		return fmt.Errorf("%w: the key is longer than %d bytes", ErrMalformed, keyBytesMax)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the key is not UTF-8", ErrMalformed)
	}
	if s.GetLockIndex() == 0 {
		return fmt.Errorf("%w: the lock index is 0", ErrMalformed)
	}
	if s.GetFencingToken() == 0 {
		return fmt.Errorf("%w: the fencing token is 0", ErrMalformed)
	}
	id, err := uuid.Parse(s.GetSessionId())
	if err != nil || id.String() != s.GetSessionId() {
		return fmt.Errorf("%w: the session %q is not a UUID", ErrMalformed, s.GetSessionId())
	}
	if history := s.GetHistoryId(); history != "" {
		raw, err := hex.DecodeString(history)
		if err != nil || len(raw) != historyBytes || hex.EncodeToString(raw) != history {
			return fmt.Errorf("%w: the history %q is not %d hexadecimal digits", ErrMalformed, history, 2*historyBytes)
		}
	}
	return nil
}
