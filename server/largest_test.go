package server_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// optionsWithMost returns options that name as much as they may.
func optionsWithMost(session string) *tenurev1.CallOptions {
	o := &tenurev1.CallOptions{RequestId: &tenurev1.RequestID{SessionId: session, Sequence: 1}}
	for range 16 {
		o.Guards = append(o.Guards, &tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: session}})
	}
	return o
}

// TestTheLargestMessagesNameNotTooMuch sends the messages that name most of what their services take, and then larger ones: those their services refuse,
// so these were the largest. None names more than a member looks at.
func TestTheLargestMessagesNameNotTooMuch(t *testing.T) {
	m := start(t, alone)
	ctx := as(t.Context(), m.bootstrap(t, modeEnforce))
	s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	session := s.GetSessionId()
	for name, tc := range map[string]struct {
		most int
		send func(context.Context, int) error
		want string // how a larger one is refused
	}{
		"a transaction of puts": {128, func(ctx context.Context, n int) error {
			r := &tenurev1.TxnRequest{Options: optionsWithMost(session)}
			for i := range n {
				r.Then = append(r.Then, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{
					Key: fmt.Sprint(i), Acquire: session, Release: session, BindSession: session,
				}}})
			}
			_, err := m.Txn(ctx, r)
			return err
		}, "at most 128"},
		"a transaction of checks of the catalog": {128, func(ctx context.Context, n int) error {
			r := &tenurev1.TxnRequest{Options: optionsWithMost(session)}
			for i := range n {
				r.Then = append(r.Then, &tenurev1.Op{Kind: &tenurev1.Op_Catalog{Catalog: &tenurev1.CatalogOp{Kind: &tenurev1.CatalogOp_PutCheck{
					PutCheck: &tenurev1.Check{Node: "n", CheckId: fmt.Sprint(i), ServiceId: "s"},
				}}}})
			}
			_, err := m.Txn(ctx, r)
			return err
		}, "at most 128"},
		"a registration of checks": {127, func(ctx context.Context, n int) error {
			r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "n", NodeId: session}, Options: optionsWithMost(session)}
			for i := range n {
				r.Checks = append(r.Checks, &tenurev1.Check{CheckId: fmt.Sprint(i), ServiceId: "s"})
			}
			_, err := m.catalog().RegisterNode(ctx, r)
			return err
		}, "at most 128"},
		"what an agent syncs": {127, func(ctx context.Context, n int) error {
			r := &tenurev1.SyncNodeRequest{
				NodeId: session, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 1}, Node: &tenurev1.Node{Name: "n"},
			}
			for i := range n {
				r.Services = append(r.Services, &tenurev1.Service{ServiceId: fmt.Sprint(i), Name: "s"})
			}
			_, err := m.catalog().SyncNode(ctx, r)
			return err
		}, "at most 128"},
		"a watch of prefixes": {128, func(ctx context.Context, n int) error {
			r := &tenurev1.WatchRequest{RangeStart: "a", RangeEnd: "b", AllSessions: true, AllNodes: true, AllServices: true, AllQueries: true}
			for i := range n {
				r.Prefixes = append(r.Prefixes, fmt.Sprint(i))
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			w, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
			if err == nil {
				_, err = w.Recv()
			}
			return err
		}, "at most 128"},
		"renewals": {1024, func(ctx context.Context, n int) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			keep, err := m.KeepAlive(ctx)
			if err != nil {
				return err
			}
			r := &tenurev1.KeepAliveRequest{}
			for i := range n {
				r.Renewals = append(r.Renewals, &tenurev1.SessionRenewal{SessionId: fmt.Sprintf("0190a0b0-0000-7000-8000-%012d", i), Number: 1})
			}
			if err = keep.Send(r); err == nil {
				err = keep.CloseSend()
			}
			for err == nil {
				_, err = keep.Recv()
			}
			if err == io.EOF { //nolint:errorlint // gRPC returns it as it is.
				return nil
			}
			return err
		}, "at most 1024"},
	} {
		for n, larger := range map[int]bool{tc.most: false, tc.most + 1: true} {
			err := tc.send(ctx, n)
			if limit := errorinfo.Fact(err, "limit"); strings.HasPrefix(limit, "request_") {
				t.Errorf("%s with %d: got %v beyond %s, want what its service says", name, n, err, limit)
			}
			if refused := err != nil && strings.Contains(err.Error(), tc.want); refused != larger {
				t.Errorf("%s with %d: got %v; want that it is refused for its number: %v", name, n, err, larger)
			}
		}
	}
}
