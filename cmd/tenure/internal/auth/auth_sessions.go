package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// tokenPrincipal begins the principals of tokens; the accessor comes next.
	tokenPrincipal = "token:"
	// principalsMax is of how many tokens one call lists the sessions.
	principalsMax = 256
	// endedAtOnce is how many sessions are ended at the same time.
	endedAtOnce = 16
	// revokedReason is the reason that is kept with a session that is ended with its token.
	revokedReason = "its token was revoked"
)

// errOlderMember says that the sessions of a token cannot be told from others.
var errOlderMember = errors.New("this member is older and cannot list the sessions of one token")

// openedSessions are the sessions that were opened with some tokens.
type openedSessions struct {
	// found are those that were live, by id; listed says that all of them are known.
	found  []*tenurev1.Session
	listed bool
	// ended are the ids of those that are no longer live.
	ended map[string]bool
	// older says that the member is too old to list the sessions of some tokens: it would list all sessions.
	older bool
	// err is why the sessions are not known, or why one was not ended.
	err error
}

// find lists the sessions that were opened with some tokens, and ends them if asked.
func (s *openedSessions) find(ctx context.Context, e *cli.Environment, accessors []string, end bool) {
	if len(accessors) == 0 {
		return
	}
	if s.older {
		s.err = errOlderMember
		return
	}
	m, err := e.Connect()
	if err != nil {
		s.err = err
		return
	}
	defer m.Close()
	for some := range slices.Chunk(accessors, principalsMax) {
		if s.err = s.list(ctx, e, m, some); s.err != nil {
			s.found = nil // Some of them would look like all.
			return
		}
	}
	s.listed = true
	if end {
		s.end(ctx, e, m)
	}
}

// list adds the sessions that were opened with some tokens.
func (s *openedSessions) list(ctx context.Context, e *cli.Environment, m *cli.Members, accessors []string) error {
	request := &tenurev1.ListSessionsRequest{}
	for _, accessor := range accessors {
		request.Principals = append(request.Principals, tokenPrincipal+accessor)
	}
	for {
		var page *tenurev1.ListSessionsResponse
		err := callSessions(ctx, e, m, func(ctx context.Context, sessions tenurev1.SessionServiceClient) (err error) {
			page, err = sessions.ListSessions(ctx, request)
			return err
		})
		if err != nil {
			return err
		}
		s.found = append(s.found, page.GetSessions()...)
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			return nil
		}
	}
}

// callSessions makes a call to SessionService of a member that does the same when made twice. It has the time of one call.
func callSessions(
	ctx context.Context, e *cli.Environment, m *cli.Members, f func(ctx context.Context, sessions tenurev1.SessionServiceClient) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	return m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) error { return f(ctx, tenurev1.NewSessionServiceClient(l)) })
}

// end ends the sessions that were found. One that cannot be ended does not keep it from ending the others.
func (s *openedSessions) end(ctx context.Context, e *cli.Environment, m *cli.Members) {
	var mu sync.Mutex // Guards s.ended, denied and failed.
	s.ended = map[string]bool{}
	var denied, failed error // The first of each.
	g := errgroup.Group{}
	g.SetLimit(endedAtOnce)
	for _, session := range s.found {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			id := session.GetSessionId()
			err := callSessions(ctx, e, m, func(ctx context.Context, sessions tenurev1.SessionServiceClient) error {
				_, err := sessions.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: id, Force: true, Reason: revokedReason})
				return err
			})
			gone := errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND // It ended meanwhile.
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil || gone:
				s.ended[id] = true
			case status.Code(err) == codes.PermissionDenied:
				denied = cmp.Or(denied, err)
			default:
				failed = cmp.Or(failed, err)
			}
			return nil
		})
	}
	_ = g.Wait() // None returns an error.
	s.err = cmp.Or(ctx.Err(), failed, denied)
}

// sorted returns the sessions that are no longer live, those that end when their TTL is over, and those without TTL.
func (s *openedSessions) sorted() (ended, bounded, endless []*tenurev1.Session) {
	for _, session := range s.found {
		switch {
		case s.ended[session.GetSessionId()]:
			ended = append(ended, session)
		case session.GetTtl().AsDuration() == 0:
			endless = append(endless, session)
		default:
			bounded = append(bounded, session)
		}
	}
	return ended, bounded, endless
}

// failed returns what s.err kept from happening.
func (s *openedSessions) failed() string {
	if !s.listed {
		return "the sessions that were opened with it could not be listed, and were not ended"
	}
	return fmt.Sprintf("%d of the %s that were opened with it could not be ended", len(s.found)-len(s.ended), cli.Counted(len(s.found), "session"))
}

// printSessions prints sessions, if there are any, after what is said of them and how many they are.
func printSessions(e *cli.Environment, what string, sessions []*tenurev1.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	if err := e.Printf("%s: %d\n", what, len(sessions)); err != nil {
		return err
	}
	rows := [][]string{{"ID", "NAME", "TTL"}}
	for _, session := range sessions {
		rows = append(rows, []string{session.GetSessionId(), cli.OrDash(session.GetName()), cli.LengthOrNone(session.GetTtl())})
	}
	return e.PrintTable(rows)
}
