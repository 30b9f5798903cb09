package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

type keepAliveStream = grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]

// answerRenewals answers each renewal with what verdict makes of it; nil is no answer.
func answerRenewals(verdict func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict) func(keepAliveStream) error {
	return func(s keepAliveStream) error {
		for {
			request, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("receive: %w", err)
			}
			v := verdict(request.GetRenewals()[0])
			if v == nil {
				continue
			}
			if err := s.Send(&tenurev1.KeepAliveResponse{Verdicts: []*tenurev1.RenewalVerdict{v}}); err != nil {
				return err
			}
		}
	}
}

func granted(r *tenurev1.SessionRenewal, ttl time.Duration) *tenurev1.RenewalVerdict {
	return &tenurev1.RenewalVerdict{SessionId: r.GetSessionId(), Number: r.GetNumber(), Ttl: durationpb.New(ttl)}
}

func refused(r *tenurev1.SessionRenewal, reason tenurev1.ErrorReason) *tenurev1.RenewalVerdict {
	return &tenurev1.RenewalVerdict{SessionId: r.GetSessionId(), Number: r.GetNumber(), Refused: reason}
}

func testKeeper(m *members) *keeper {
	s := &ownSession{id: "s", secret: []byte("secret"), epoch: 3, ttl: 10 * time.Second, every: time.Millisecond}
	return newKeeper(m, newClock(), s, func(string, ...any) {})
}

func TestKeeperCountsFromWhenItSent(t *testing.T) {
	var fake time.Duration
	member := &fakeMember{keepAlive: answerRenewals(func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
		if r.GetSessionId() != "s" || r.GetEpoch() != 3 || string(r.GetSecret()) != "secret" {
			return refused(r, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
		}
		return granted(r, 10*time.Second)
	})}
	k := testKeeper(membersAt(t, member.serve(t)))
	// Each look at the clock takes an hour: the moment of the answer would be much later than that of the sending.
	k.clock = func() time.Duration { fake += time.Hour; return fake }
	ctx, cancel := context.WithCancel(t.Context())
	var untils []time.Duration
	k.renewed = func(until time.Duration) {
		if untils = append(untils, until); len(untils) == 3 {
			cancel()
		}
	}
	if err := k.run(ctx); err != nil {
		t.Fatal(err)
	}
	for i, got := range untils {
		if want := time.Duration(i+1)*time.Hour + 9800*time.Millisecond; got != want {
			t.Errorf("renewal %d: got safe until %v, want %v", i+1, got, want)
		}
	}
}

func TestKeeperIgnoresOtherAnswers(t *testing.T) {
	member := &fakeMember{keepAlive: answerRenewals(func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
		if r.GetNumber() == 1 {
			r.Number = 77 // Nobody asked that.
		}
		return granted(r, time.Hour)
	})}
	k := testKeeper(membersAt(t, member.serve(t)))
	ctx, cancel := context.WithCancel(t.Context())
	k.renewed = func(time.Duration) { cancel() }
	if err := k.run(ctx); err != nil {
		t.Fatal(err)
	}
	if k.number < 2 {
		t.Errorf("got renewal %d acknowledged, want a later one than 1", k.number)
	}
}

func TestKeeperEndsWithTheSession(t *testing.T) {
	for _, reason := range []tenurev1.ErrorReason{
		tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID,
	} {
		t.Run(reasonText(reason), func(t *testing.T) {
			member := &fakeMember{keepAlive: answerRenewals(func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
				return refused(r, reason)
			})}
			err := testKeeper(membersAt(t, member.serve(t))).run(t.Context())
			if _, ok := errors.AsType[*sessionEndedError](err); !ok {
				t.Errorf("got %v, want the session's end", err)
			}
		})
	}
}

func TestKeeperGoesOnWithAnotherMember(t *testing.T) {
	good := &fakeMember{keepAlive: answerRenewals(func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
		return granted(r, 10*time.Second)
	})}
	for name, bad := range map[string]func(keepAliveStream) error{
		"after a refusal for now": answerRenewals(func(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
			return refused(r, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
		}),
		"after no answer":       answerRenewals(func(*tenurev1.SessionRenewal) *tenurev1.RenewalVerdict { return nil }),
		"after a broken stream": func(keepAliveStream) error { return errors.New("broken") },
		"after an ended stream": func(keepAliveStream) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			m := membersAt(t, (&fakeMember{keepAlive: bad}).serve(t), good.serve(t))
			k := testKeeper(m)
			var notes []string
			k.note = func(format string, _ ...any) { notes = append(notes, format) }
			ctx, cancel := context.WithCancel(t.Context())
			k.renewed = func(time.Duration) { cancel() }
			if err := k.run(ctx); err != nil {
				t.Fatal(err)
			}
			if len(notes) != 2 {
				t.Errorf("got notes %q, want one of the trouble and one of its end", notes)
			}
		})
	}
}
