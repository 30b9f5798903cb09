package secure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenAge is how old a token may be before its file or source is asked again.
const tokenAge = 10 * time.Second

// Token is a text by which members know who calls. It comes from a file or from the program, and is asked for again when it is old.
type Token struct {
	source func(ctx context.Context) (string, error)
	now    func() time.Time

	asking chan struct{} // Has room for whoever asks the source, who alone may set what follows; the others want that answer, too.

	mu   sync.Mutex // Guards what follows.
	text string
	at   time.Time // When it was read.
}

// FixedToken returns a token that never changes.
func FixedToken(text string) *Token {
	return TokenFrom(func(context.Context) (string, error) { return text, nil })
}

// TokenFile returns a token that stands in a file, with or without space around it.
func TokenFile(path string) *Token {
	return TokenFrom(func(context.Context) (string, error) {
		text, err := os.ReadFile(path) //nolint:gosec // The program names the file.
		if err != nil {
			return "", unread("token_file", path, err)
		}
		return string(text), nil
	})
}

// TokenFrom returns a token of a source.
func TokenFrom(source func(ctx context.Context) (string, error)) *Token {
	return &Token{source: source, now: time.Now, asking: make(chan struct{}, 1)}
}

// errNoText says that a token cannot be sent.
var errNoText = errors.New("the token is empty, or has characters that are not printable ASCII")

// Get returns the token. If the source fails, the one before is returned as long as there is one: a member says whether it still is good.
func (t *Token) Get(ctx context.Context) (string, error) {
	text, fresh := t.last()
	if fresh {
		return text, nil
	}
	if err := t.begin(ctx); err != nil {
		return "", err
	}
	defer t.end()
	if text, fresh = t.last(); fresh {
		return text, nil
	}
	if err := t.read(ctx); err != nil && text == "" {
		return "", err
	}
	text, _ = t.last()
	return text, nil
}

// Renew asks the source again, after a member refused a token that was used. It reports whether there is another one now.
func (t *Token) Renew(ctx context.Context, used string) bool {
	if t.begin(ctx) != nil {
		return false
	}
	defer t.end()
	if text, _ := t.last(); text != used {
		return true // Another call has asked since.
	}
	_ = t.read(ctx) // Without another token what the member said stands.
	text, _ := t.last()
	return text != used
}

// begin waits until nobody else asks the source.
func (t *Token) begin(ctx context.Context) error {
	select {
	case t.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Token) end() { <-t.asking }

// last returns the token that was read last, and reports whether it is not old.
func (t *Token) last() (text string, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text, t.text != "" && t.now().Sub(t.at) < tokenAge
}

// read asks the source. Only whoever began may call it.
func (t *Token) read(ctx context.Context) error {
	text, err := t.source(ctx)
	if err != nil {
		return fmt.Errorf("no token: %w", err)
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errNoText
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.at = text, t.now()
	return nil
}
