package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// Sequencer is proof of holding a lock that can be passed to other processes. They check it with Client.CheckSequencer,
// use it as a guard, or remember its token.
type Sequencer struct {
	// Key of the lock, with its namespace.
	Key string
	// LockIndex is the number of the hold on this key.
	LockIndex uint64
	// SessionID is the session that holds the lock.
	SessionID string
	// Token is the fencing token.
	Token uint64
	// HistoryID is the history that the token belongs to.
	HistoryID string
}

func sequencerOf(q *tenurev1.Sequencer) Sequencer {
	return Sequencer{
		Key: q.GetKey(), LockIndex: q.GetLockIndex(), SessionID: q.GetSessionId(), Token: q.GetFencingToken(),
		HistoryID: q.GetHistoryId(),
	}
}

func (q Sequencer) message() *tenurev1.Sequencer {
	return &tenurev1.Sequencer{
		Key: q.Key, LockIndex: q.LockIndex, SessionId: q.SessionID, FencingToken: q.Token, HistoryId: q.HistoryID,
	}
}

// String returns the sequencer as text that is safe in URLs, environment variables and log lines; empty if the
// sequencer is not valid.
func (q Sequencer) String() string {
	text, err := sequencer.Format(q.message())
	if err != nil {
		return ""
	}
	return text
}

// ParseSequencer parses the text of a sequencer.
func ParseSequencer(text string) (Sequencer, error) {
	q, err := sequencer.Parse(text)
	if err != nil {
		return Sequencer{}, &Error{Kind: ErrTokenInvalid, Applied: AppliedNo, Message: err.Error(), cause: err}
	}
	return sequencerOf(q), nil
}

// CheckSequencer reports whether a sequencer is valid and its session is live.
func (c *Client) CheckSequencer(ctx context.Context, q Sequencer) (bool, error) {
	if err := sendable(q.message()); err != nil {
		return false, err
	}
	var answer *tenurev1.CheckSequencerResponse
	err := c.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewLockServiceClient(l).CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{
			Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: q.message()},
		})
		return err
	})
	return answer.GetHolds(), err
}
