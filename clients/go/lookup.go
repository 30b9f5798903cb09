package tenure

import (
	"context"
	"strings"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// SessionInfo is the state of a session in the cluster.
type SessionInfo struct {
	ID    string
	Name  string
	Epoch uint64
	// Live says whether the session is live.
	Live bool
	// EndCause says how it ended, such as "EXPIRED" or "DESTROYED"; empty while it is live.
	EndCause string
	// Holds is the number of its holds, at most 1 000.
	Holds int
	// Message is the session as received, with fields that are not copied here.
	Message *tenurev1.Session
}

// LookUpSession returns a session that is live or ended recently; otherwise ErrSessionNotFound.
func (c *Client) LookUpSession(ctx context.Context, id string) (*SessionInfo, error) {
	if err := sendable(&tenurev1.GetSessionRequest{SessionId: id}); err != nil {
		return nil, err
	}
	var answer *tenurev1.GetSessionResponse
	err := c.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewSessionServiceClient(l).GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
		return err
	})
	if err != nil {
		return nil, err
	}
	s := answer.GetSession()
	info := &SessionInfo{
		ID: s.GetSessionId(), Name: s.GetName(), Epoch: s.GetEpoch(), Live: s.GetEnd() == nil, Holds: len(answer.GetHolds()),
		Message: s,
	}
	if end := s.GetEnd(); end != nil {
		info.EndCause = strings.TrimPrefix(end.GetCause().String(), "SESSION_END_CAUSE_")
	}
	return info, nil
}
