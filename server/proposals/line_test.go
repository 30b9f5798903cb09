package proposals_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/server/proposals"
)

// leading is a leader that does with proposals what a test says.
type leading struct {
	peerv1.UnimplementedRelayServiceServer
	propose  proposals.Propose
	stopping context.Context
	stop     context.CancelFunc

	mu      sync.Mutex // guards streams
	streams int
}

func (l *leading) ProposeMany(stream grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]) error {
	l.mu.Lock()
	l.streams++
	l.mu.Unlock()
	return proposals.Serve(stream, l.stopping.Done(), l.propose)
}

// start serves a leader over a connection in memory, and returns a line to it and what ends all its streams.
func start(t *testing.T, propose proposals.Propose) (*leading, *proposals.Line, *grpc.ClientConn, func()) {
	t.Helper()
	l := &leading{propose: propose}
	l.stopping, l.stop = context.WithCancel(context.Background())
	t.Cleanup(l.stop)
	var mu sync.Mutex
	var server *grpc.Server
	var listener *bufconn.Listener
	serve := func() {
		mu.Lock()
		defer mu.Unlock()
		server, listener = grpc.NewServer(grpc.WaitForHandlers(true)), bufconn.Listen(1<<20)
		peerv1.RegisterRelayServiceServer(server, l)
		go server.Serve(listener) //nolint:errcheck // It ends when it is stopped.
	}
	serve()
	restart := func() { server.Stop(); serve() }
	t.Cleanup(func() { server.Stop() })
	conn, err := grpc.NewClient("passthrough:///leader", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			mu.Lock()
			to := listener
			mu.Unlock()
			return to.DialContext(ctx)
		}), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return l, proposals.NewLine(t.Context(), peerv1.NewRelayServiceClient(conn).ProposeMany), conn, restart
}

// echo answers with the term that it was asked with.
func echo(_ context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	return &peerv1.ProposeResponse{Index: r.GetTerm()}, nil
}

// ask proposes, and checks that the answer belongs to the question.
func ask(ctx context.Context, line *proposals.Line, term uint64) error {
	got, err := line.Propose(ctx, &peerv1.ProposeRequest{Term: term})
	if err != nil {
		return err
	}
	if got.GetIndex() != term {
		return fmt.Errorf("got the answer to %d, asked %d", got.GetIndex(), term)
	}
	return nil
}

func TestManyClientsShareOneStream(t *testing.T) {
	l, line, _, _ := start(t, echo)
	var clients sync.WaitGroup
	for i := range uint64(64) {
		clients.Go(func() {
			for j := range uint64(50) {
				if err := ask(t.Context(), line, i<<32|j+1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if l.streams != 1 {
		t.Errorf("got %d streams, want one", l.streams)
	}
}

func TestASlowProposalHoldsUpNoOther(t *testing.T) {
	free := make(chan struct{})
	_, line, _, _ := start(t, func(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		if r.GetTerm() == 1 {
			<-free
		}
		return echo(ctx, r)
	})
	first := make(chan error, 1)
	go func() { first <- ask(t.Context(), line, 1) }()
	for i := range uint64(10) {
		if err := ask(t.Context(), line, i+2); err != nil {
			t.Error(err)
		}
	}
	close(free)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestTheLeadersErrorArrivesAsItIs(t *testing.T) {
	_, line, _, _ := start(t, func(context.Context, *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		s, err := status.New(codes.ResourceExhausted, "full").WithDetails(&peerv1.ProposeRequest{Term: 7})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	})
	err := ask(t.Context(), line, 1)
	s := status.Convert(err)
	if s.Code() != codes.ResourceExhausted || s.Message() != "full" || len(s.Details()) != 1 {
		t.Errorf("got %v with %v, want the leader's status with its detail", err, s.Details())
	}
	if _, broken := errors.AsType[*proposals.BrokenError](err); broken {
		t.Error("an answer is taken for a broken stream")
	}
}

func TestWhoGivesUpEndsTheLeadersWait(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	_, line, _, _ := start(t, func(ctx context.Context, _ *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, status.FromContextError(ctx.Err()).Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	err := ask(ctx, line, 1)
	broken, ok := errors.AsType[*proposals.BrokenError](err)
	if !ok || !broken.Sent {
		t.Errorf("got %v, want that it was sent", err)
	}
	<-ended
}

func TestABrokenStreamIsReplaced(t *testing.T) {
	began := make(chan struct{}, 1)
	var mu sync.Mutex
	hang := true
	l, line, _, restart := start(t, func(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		mu.Lock()
		hangs := hang
		mu.Unlock()
		if hangs {
			began <- struct{}{}
			<-ctx.Done()
		}
		return echo(ctx, r)
	})
	asked := make(chan error, 1)
	go func() { asked <- ask(t.Context(), line, 1) }()
	<-began
	mu.Lock()
	hang = false
	mu.Unlock()
	restart()
	err := <-asked
	if broken, ok := errors.AsType[*proposals.BrokenError](err); !ok || !broken.Sent {
		t.Errorf("got %v, want that the outcome is unknown", err)
	}
	for err := ask(t.Context(), line, 2); err != nil; err = ask(t.Context(), line, 2) {
		broken, ok := errors.AsType[*proposals.BrokenError](err)
		if !ok {
			t.Fatalf("got %v, want an answer or a stream that was not opened", err)
		}
		t.Log(broken)
	}
	if l.streams != 2 {
		t.Errorf("got %d streams, want a second one", l.streams)
	}
}

func TestALeaderThatStopsAnswersWhatItStarted(t *testing.T) {
	began, free := make(chan struct{}), make(chan struct{})
	l, line, _, _ := start(t, func(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		if r.GetTerm() == 1 {
			close(began)
			<-free
		}
		return echo(ctx, r)
	})
	asked := make(chan error, 1)
	go func() { asked <- ask(t.Context(), line, 1) }()
	<-began
	l.stop()
	// A moment passes until the leader takes notice. Then it starts nothing, and says so of what it had not read yet.
	err := error(nil)
	for term := uint64(2); err == nil; term++ {
		err = ask(t.Context(), line, term)
	}
	if broken, ok := errors.AsType[*proposals.BrokenError](err); !ok || broken.Sent {
		t.Errorf("got %v, want that it was not started", err)
	}
	close(free)
	if err := <-asked; err != nil {
		t.Errorf("got %v for what was started, want its answer", err)
	}
}

func TestALineEndsWithItsLife(t *testing.T) {
	_, _, conn, _ := start(t, func(ctx context.Context, _ *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	})
	life, end := context.WithCancel(t.Context())
	line := proposals.NewLine(life, func(ctx context.Context, options ...grpc.CallOption) (
		grpc.BidiStreamingClient[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse], error,
	) {
		defer end()
		return peerv1.NewRelayServiceClient(conn).ProposeMany(ctx, options...)
	})
	for range 2 {
		err := ask(t.Context(), line, 1)
		if _, ok := errors.AsType[*proposals.BrokenError](err); !ok {
			t.Errorf("got %v, want that the line has ended", err)
		}
	}
}

func TestAMemberThatBreaksTheRulesLosesItsStream(t *testing.T) {
	for name, bad := range map[string]*peerv1.ProposeManyRequest{
		"number zero":    {Proposals: []*peerv1.NumberedProposal{{}}},
		"a number twice": {Proposals: []*peerv1.NumberedProposal{{Number: 3}, {Number: 3}}},
		"too many":       {Cancelled: make([]uint64, proposals.ProposalsMax+1)},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, conn, _ := start(t, echo)
			stream, err := peerv1.NewRelayServiceClient(conn).ProposeMany(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err = stream.Send(bad); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != codes.Unknown { // The service makes a status of it.
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
}

func TestABrokenRequestFailsAlone(t *testing.T) {
	_, _, conn, _ := start(t, echo)
	stream, err := peerv1.NewRelayServiceClient(conn).ProposeMany(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err = stream.Send(&peerv1.ProposeManyRequest{
		Proposals: []*peerv1.NumberedProposal{{Number: 1, Request: []byte{255}}, {Number: 2}}, Cancelled: []uint64{9},
	}); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]bool{}
	for len(got) < 2 {
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range response.GetAnswers() {
			got[a.GetNumber()] = len(a.GetStatus()) > 0
		}
	}
	if !got[1] || got[2] {
		t.Errorf("got refusals %v, want one of the first only", got)
	}
}

// What a leader that stops said it did not start, its client proposes to the next one: it must never start here.
func TestALeaderThatStopsStartsNothingMore(t *testing.T) {
	for range 50 {
		began, second := make(chan struct{}), make(chan struct{}, 1)
		l, _, conn, _ := start(t, func(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
			if r.GetTerm() == 2 {
				second <- struct{}{}
				return echo(ctx, r)
			}
			close(began)
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		})
		stream, err := peerv1.NewRelayServiceClient(conn).ProposeMany(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Term 1 and term 2, encoded.
		if err = stream.Send(&peerv1.ProposeManyRequest{Proposals: []*peerv1.NumberedProposal{{Number: 1, Request: []byte{8, 1}}}}); err != nil {
			t.Fatal(err)
		}
		<-began
		l.stop()
		response, err := stream.Recv()
		if err != nil || response.Drained == nil || response.GetDrained() != 1 {
			t.Fatalf("got %v, %v; want that all after 1 is not started", response, err)
		}
		// The first ends with the message that brings the second.
		if err = stream.Send(&peerv1.ProposeManyRequest{
			Cancelled: []uint64{1}, Proposals: []*peerv1.NumberedProposal{{Number: 2, Request: []byte{8, 2}}},
		}); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = stream.Recv()
		}
		select {
		case <-second:
			t.Fatal("a proposal was started after the leader said that it was not")
		default:
		}
	}
}
