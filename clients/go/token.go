package tenure

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// How a token came to be.
const (
	tokenFormat = "ts1"
	handedOver  = "h"
	kept        = "k"
)

// sessionToken is what a process needs to resume a session.
type sessionToken struct {
	sessionID string
	secret    []byte
	epoch     uint64
	ttl       time.Duration
	handed    bool // Whether who made it gave the session up, and so believes in nothing of it.
}

// String returns the token as users carry it: format, session, secret, epoch, TTL in milliseconds, and whether it was handed over.
func (t sessionToken) String() string {
	how := kept
	if t.handed {
		how = handedOver
	}
	return strings.Join([]string{
		tokenFormat, t.sessionID, base64.RawURLEncoding.EncodeToString(t.secret), strconv.FormatUint(t.epoch, 10),
		strconv.FormatInt(t.ttl.Milliseconds(), 10), how,
	}, ".")
}

// parseToken reads what String wrote, in any of the client libraries.
func parseToken(text string) (sessionToken, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 6 || parts[0] != tokenFormat || parts[5] != handedOver && parts[5] != kept {
		return sessionToken{}, &Error{Kind: ErrTokenInvalid, Applied: AppliedNo, Message: "not a session token"}
	}
	secret, err1 := base64.RawURLEncoding.DecodeString(parts[2])
	epoch, err2 := strconv.ParseUint(parts[3], 10, 64)
	ttl, err3 := strconv.ParseInt(parts[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || len(secret) != secretBytes && len(secret) != 0 || ttl < 0 ||
		!utf8.ValidString(parts[1]) {
		return sessionToken{}, &Error{Kind: ErrTokenInvalid, Applied: AppliedNo, Message: "a damaged session token"}
	}
	return sessionToken{
		sessionID: parts[1], secret: secret, epoch: epoch, ttl: time.Duration(ttl) * time.Millisecond, handed: parts[5] == handedOver,
	}, nil
}

// tokenOf returns the token of a session.
func tokenOf(s *Session, handed bool) string {
	return sessionToken{sessionID: s.id, secret: s.secret, epoch: s.epoch, ttl: s.lease.ttl, handed: handed}.String()
}

// Token returns a token with which another process can resume the session if this one dies; store it safely. A process
// that resumes while this one lives takes the session away from it, and relies on inherited holds only when this
// process no longer can: one TTL later, and never without TTL.
func (s *Session) Token() string { return tokenOf(s, false) }

// Export hands the session over to another process. This process stops using the session without ending it, and Export
// returns a token for Client.ResumeSession. Waits for locks end and leave their queues; running releases get a moment
// to finish. Anyone who has the token has the session: keep it secret.
func (s *Session) Export(ctx context.Context) (token string, err error) {
	if s.attached {
		return "", errAttached(s.id)
	}
	s.custody.leaveQueues()
	// A last renewal gives the next process a whole TTL.
	_ = s.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewSessionServiceClient(l).RenewSession(ctx, &tenurev1.RenewSessionRequest{
			SessionId: s.id, Options: &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: s.epoch},
		})
		return err
	}, kindOwn)
	if !s.end(CauseExported) {
		return "", s.over()
	}
	s.Detach()
	// The process before this one may still believe what it had.
	return tokenOf(s, s.lease.inherits(s.client.clock())), nil
}
