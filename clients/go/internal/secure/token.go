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

// Times of tokens.
const (
	// tokenAge is how old a token may be before its file or source is asked again.
	tokenAge = 10 * time.Second
	// overdue is how long calls wait for a new token while there is an old one.
	overdue = time.Second
	// failedPause is how long a source that failed is not asked again while there is an old token, unless a member refuses that.
	failedPause = 5 * time.Second
	// askPatience is how long a source may take.
	askPatience = 30 * time.Second
)

// Token is a text by which members know who calls. It comes from a file or from the program, and is asked for again when it is old. The source is
// asked by one goroutine at a time, for all calls that wait for it, and goes on when they give up.
type Token struct {
	source func(ctx context.Context) (string, error)
	now    func() time.Time

	mu       sync.Mutex // Guards what follows.
	text     string
	at       time.Time // When it was read.
	failedAt time.Time // When the source failed; zero: it did not when it was asked last.
	asking   *question // That is under way; nil: none.
	closed   bool
}

// question is what the source is being asked.
type question struct {
	at      time.Time // When it began.
	refused string    // The token that a member had refused before; empty: it began for another reason.
	cancel  context.CancelFunc
	done    chan struct{} // Closed when there is an answer.
	err     error         // Set before that.
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
	return &Token{source: source, now: time.Now}
}

// Errors of tokens.
var (
	// ErrLate says that the source has not answered in time. It may do so later.
	ErrLate = errors.New("no token: its source has not answered")
	// errNoText says that a token cannot be sent.
	errNoText = errors.New("the token is empty, or has characters that are not printable ASCII")
)

// Get returns the token. If the source fails, or takes longer than overdue, the one before is returned as long as there is one: a member says whether
// it still is good. Once the source has failed it is asked in the background, until it answers. Without a token, Get waits for one until ctx ends,
// which is an ErrLate.
func (t *Token) Get(ctx context.Context) (string, error) {
	text, q, patience := t.look()
	if q == nil {
		return text, nil
	}
	if text != "" {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_ = q.wait(waiting) // Then the one before is used.
		return t.last(), nil
	}
	if err := q.wait(ctx); err != nil {
		return "", err
	}
	if q.err != nil {
		return "", q.err
	}
	return t.last(), nil
}

// look returns the token that there is, and what the source is being asked if its answer is wanted, with how long it may take if there is a token.
func (t *Token) look() (text string, q *question, patience time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	switch {
	case t.text != "" && !t.failedAt.IsZero():
		if now.Sub(t.failedAt) >= failedPause {
			t.ask("")
		}
		return t.text, nil, 0
	case t.text != "" && now.Sub(t.at) < tokenAge:
		return t.text, nil, 0
	}
	q = t.ask("")
	return t.text, q, q.at.Add(overdue).Sub(now)
}

// Renew asks the source again, after a member refused a token that was used, and waits for what it answers until ctx ends, which is an ErrLate. It
// reports whether there is another token then. If the source fails, or has the same one, what the member said stands.
func (t *Token) Renew(ctx context.Context, used string) (bool, error) {
	t.mu.Lock()
	before := t.asking
	t.mu.Unlock()
	if before != nil && before.refused != used { // It began before the member was asked, and may have the same answer.
		if err := before.wait(ctx); err != nil {
			return false, err
		}
	}
	if t.last() != used {
		return true, nil // Another call has asked since.
	}
	t.mu.Lock()
	q := t.ask(used)
	t.mu.Unlock()
	if err := q.wait(ctx); err != nil {
		return false, err
	}
	if errors.Is(q.err, ErrLate) {
		return false, q.err
	}
	return t.last() != used, nil
}

// Close ends what the source is being asked. It does not wait for the source, which is the program's own.
func (t *Token) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.asking != nil {
		t.asking.cancel()
	}
}

// last returns the token that was read last.
func (t *Token) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}

// ask returns what the source is being asked; that begins if nothing is. Call it under mu.
func (t *Token) ask(refused string) *question {
	if t.asking != nil {
		return t.asking
	}
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	if t.closed {
		cancel()
	}
	t.asking = &question{at: t.now(), refused: refused, cancel: cancel, done: make(chan struct{})}
	go t.read(ctx, t.asking) // Close ends it.
	return t.asking
}

// read asks the source.
func (t *Token) read(ctx context.Context, q *question) {
	text, err := t.answer(ctx)
	q.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.text, t.at, t.failedAt = text, t.now(), time.Time{}
	} else {
		t.failedAt = t.now()
	}
	t.asking, q.err = nil, err
	close(q.done)
}

// answer returns what the source answers.
func (t *Token) answer(ctx context.Context) (string, error) {
	text, err := t.source(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("%w: %w", ErrLate, ctx.Err())
	case err != nil:
		return "", fmt.Errorf("no token: %w", err)
	}
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errNoText
	}
	return text, nil
}

// wait waits for the answer until ctx ends.
func (q *question) wait(ctx context.Context) error {
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrLate, ctx.Err())
	}
}
