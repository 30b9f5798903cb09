package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"sync"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	// NonceFile is the file in the data directory that has the nonce.
	NonceFile = "AUTH_NONCE"
	// nonceLife is how long a nonce is good.
	nonceLife = 10 * time.Minute
	// guessEvery is how often one address may show a wrong nonce and be told so.
	guessEvery = time.Minute
	// guessersMax is how many addresses are remembered that showed a wrong one. At it, all others with a wrong one wait, too.
	guessersMax = 4096
)

// Nonces prove that callers can read the directory of this member. Any goroutine may use them.
type Nonces struct {
	// write writes the file, which only the member's user may read.
	write func(text string) error
	now   func() time.Time

	mu      sync.Mutex // guards what follows
	text    string     // empty: there is none
	until   time.Time
	guesses map[string]time.Time // when an address showed a wrong one last
}

// NewNonces returns nonces, whose file write writes. now is the wall clock; nil is the machine's.
func NewNonces(write func(text string) error, now func() time.Time) *Nonces {
	if now == nil {
		now = time.Now
	}
	return &Nonces{write: write, now: now, guesses: map[string]time.Time{}}
}

// Check refuses a call whose nonce is not the one of the file. Without one in the call, the file is written, unless it has one that
// is still good.
func (n *Nonces) Check(ctx context.Context, given string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if given == "" {
		return n.draw(now)
	}
	// The right one passes however many guess, else anybody could keep out who has it. Its 128 random bits are what keeps guessers out.
	if n.text != "" && now.Before(n.until) && subtle.ConstantTimeCompare([]byte(n.text), []byte(given)) == 1 {
		return nil
	}
	host := hostOf(ctx)
	for address, at := range n.guesses {
		if now.Sub(at) >= guessEvery {
			delete(n.guesses, address)
		}
	}
	if _, early := n.guesses[host]; early || len(n.guesses) >= guessersMax {
		refusal := reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "a wrong nonce was shown less than a minute ago")
		refusal.RetryAfter = guessEvery
		return refusal
	}
	n.guesses[host] = now
	return refusedNonce("the nonce is wrong, or older than 10 minutes; is --data-dir that of the member in --endpoints?")
}

// draw makes sure that there is a nonce, and refuses the call that has none. Call it under mu.
func (n *Nonces) draw(now time.Time) error {
	if n.text == "" || !now.Before(n.until) {
		var secret [16]byte
		_, _ = rand.Read(secret[:]) // It never fails; see crypto/rand.
		text := hex.EncodeToString(secret[:])
		if err := n.write(text); err != nil {
			return err
		}
		n.text, n.until = text, now.Add(nonceLife)
	}
	return refusedNonce("this call needs the nonce that the file " + NonceFile + " in the member's data directory has now; give --data-dir")
}

// refusedNonce returns the error for a call without the right nonce.
func refusedNonce(why string) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "%s", why).With("needs", "nonce")
}

// hostOf returns the address that a call comes from, without its port.
func hostOf(ctx context.Context) string {
	host, _, err := net.SplitHostPort(gate.Address(ctx))
	if err != nil {
		return gate.Address(ctx)
	}
	return host
}
