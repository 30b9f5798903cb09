package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// sessionsMax is how many sessions the cluster may have.
func sessionsMax(long bool) int {
	if long {
		return 65_000
	}
	return 600
}

// setLimits sets limits of the cluster.
func (s *scene) setLimits(l *tenurev1.Limits) {
	s.t.Helper()
	err := s.quiet.again(s.t.Context(), "set limits", func(ctx context.Context) error {
		_, err := tenurev1.NewClusterServiceClient(s.quiet.conn).SetLimits(ctx, &tenurev1.SetLimitsRequest{Limits: l})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func limitSessions(s *scene) {
	n := uint64(sessionsMax(long()))
	s.setLimits(&tenurev1.Limits{SessionsMax: &n})
}

// openSessions opens sessions without TTL and with all the metadata that they may have, until it is refused.
func openSessions(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	sessions := tenurev1.NewSessionServiceClient(conn)
	var all sync.WaitGroup
	var opened atomic.Int64
	for range 16 {
		all.Go(func() {
			for n := 0; n < sessionsMax(a.Long); n++ {
				_, err := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{Metadata: map[string]string{"m": strings.Repeat("m", 4095)}})
				a.answered("create session", err)
				switch status.Code(err) {
				case codes.OK:
					opened.Add(1)
				case codes.ResourceExhausted:
					return
				default: // There may be no leader for a while.
				}
			}
		})
	}
	all.Wait()
	if n := int(opened.Load()); n > sessionsMax(a.Long)*11/20 || n < sessionsMax(a.Long)/4 {
		return fmt.Errorf("it opened %d of %d sessions, want about half", n, sessionsMax(a.Long))
	}
	return nil
}

// othersOpenSessions demands that others can open sessions.
func othersOpenSessions(s *scene) {
	for range 10 {
		err := s.quiet.again(s.t.Context(), "create session", func(ctx context.Context) error {
			_, err := s.quiet.renewer.CreateSession(ctx, newSession())
			return err
		})
		if err != nil {
			s.t.Error(err)
		}
	}
}

// renewWithoutSecret renews a session without its secret and with others, until it ends all the same.
func renewWithoutSecret(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	sessions := tenurev1.NewSessionServiceClient(conn)
	opened, err := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(2 * time.Second), WantSecret: true})
	if err != nil {
		return err
	}
	id := opened.GetSessionId()
	stream, err := sessions.KeepAlive(ctx)
	if err != nil {
		return err
	}
	go func() { // It ends with the process.
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	return a.until(ctx, func() (bool, error) {
		for _, secret := range [][]byte{nil, make([]byte, 32)} {
			_ = stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{
				SessionId: id, Epoch: 1, Number: 1, Secret: secret, // It may be refused; the session's end counts.
			}}})
			_, err := sessions.RenewSession(ctx, &tenurev1.RenewSessionRequest{
				SessionId: id, Options: &tenurev1.CallOptions{SessionSecret: secret, Epoch: 1},
			})
			a.answered("renew", err)
		}
		got, err := sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
		return got.GetSession().GetEnd() != nil, err
	})
}

// renewUnknown renews sessions that nobody has, as fast as the answers come: as clients do, and as members do for theirs.
func renewUnknown(ctx context.Context, a *attacker) error {
	const clients, perMessage = 4, 1024
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	a.inBackground(clients, a.count(2, 1<<30), func(client, _ int) {
		stream, err := tenurev1.NewSessionServiceClient(conn).KeepAlive(ctx)
		for n := 0; err == nil && n < a.count(5, 100) && !a.over(); n++ {
			message := &tenurev1.KeepAliveRequest{}
			for i := range perMessage {
				message.Renewals = append(message.Renewals, &tenurev1.SessionRenewal{
					SessionId: uuid.NewString(), Epoch: 1, Number: uint64(i), Secret: make([]byte, 32*(client%2)),
				})
			}
			if err = stream.Send(message); err != nil {
				break
			}
			for verdicts := 0; verdicts < perMessage && err == nil; {
				var answer *tenurev1.KeepAliveResponse
				answer, err = stream.Recv()
				verdicts += len(answer.GetVerdicts())
			}
		}
		if err == nil {
			err = stream.CloseSend()
		}
		a.answered("renewals", err)
	})
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, _, _ uint64) {
		a.answered("relayed renewals", relayRenewals(ctx, conn, a.count(5, 1000), perMessage))
	})
}

// relayRenewals sends messages with renewals of sessions that nobody has, as a member does for its clients.
func relayRenewals(ctx context.Context, conn *grpc.ClientConn, messages, perMessage int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := peerv1.NewRelayServiceClient(conn).Renew(ctx)
	if err != nil {
		return err
	}
	for range messages {
		message := &peerv1.RenewRequest{}
		for i := range perMessage {
			id := uuid.New()
			message.Renewals = append(message.Renewals, &peerv1.Renewal{SessionId: id[:], Epoch: 1, Number: uint64(i), Proven: true})
		}
		if stream.Send(message) != nil {
			break // How the stream ended is read from it.
		}
	}
	_ = stream.CloseSend() // The same.
	for {
		if _, err = stream.Recv(); err != nil {
			return err
		}
	}
}
