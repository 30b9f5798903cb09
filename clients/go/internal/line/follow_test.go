package line_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/line"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

type lineStream = grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]

// watched serves lines as a test wants, and watches one by one.
type watched struct {
	tenurev1.UnimplementedLineServiceServer
	tenurev1.UnimplementedWatchServiceServer
	serve func(stream lineStream) error

	mu    sync.Mutex // Guards what follows.
	lines int
	alone int // Watches that were streams of their own.
}

func (m *watched) Line(stream lineStream) error {
	m.mu.Lock()
	m.lines++
	m.mu.Unlock()
	return m.serve(stream)
}

func (m *watched) Watch(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	m.mu.Lock()
	m.alone++
	m.mu.Unlock()
	return s.Send(&tenurev1.WatchResponse{ResumeToken: "alone"})
}

func (m *watched) counts() (lines, alone int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines, m.alone
}

// connectWatched returns a connection with lines to a member.
func connectWatched(t *testing.T, m *watched) (conn.Transport, tenurev1.WatchServiceClient) {
	t.Helper()
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	tenurev1.RegisterWatchServiceServer(server, m)
	if m.serve != nil {
		tenurev1.RegisterLineServiceServer(server, m)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	dial := line.Over(conn.GRPC(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) },
		insecure.NewCredentials()))
	transport, err := dial(t.Context(), "member")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = transport.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return transport, tenurev1.NewWatchServiceClient(transport)
}

// bounds sends those of a line that carries so many waits.
func bounds(s lineStream, waits uint32) error {
	return s.Send(&tenurev1.LineResponse{Limits: &tenurev1.LineLimits{CallsMax: 100, RequestBytesMax: 1 << 20, WaitsMax: waits}})
}

// echoWatches sends each watch so many messages as its credit allows, and ends it after as many as its request says, or when it is canceled.
func echoWatches(waits uint32) func(s lineStream) error {
	return func(s lineStream) error {
		if err := bounds(s, waits); err != nil {
			return err
		}
		credit, left, sent := map[uint64]uint64{}, map[uint64]uint64{}, map[uint64]int{}
		for {
			m, err := s.Recv()
			if err != nil {
				return nil //nolint:nilerr // The client closed it.
			}
			for _, c := range m.GetCalls() {
				credit[c.GetNumber()], left[c.GetNumber()] = uint64(c.GetCreditMessages()), c.GetWatch().GetAfterRevision()
			}
			for _, given := range m.GetCredits() {
				credit[given.GetNumber()] += uint64(given.GetMessages())
			}
			response := &tenurev1.LineResponse{}
			for number := range left {
				for ; credit[number] > 0 && left[number] > 0; credit[number]-- {
					left[number]--
					sent[number]++
					response.Parts = append(response.Parts, &tenurev1.LinePart{
						Numbers: []uint64{number}, Message: &tenurev1.LinePart_Watch{Watch: &tenurev1.WatchResponse{ResumeToken: fmt.Sprint(sent[number])}},
					})
				}
				if left[number] == 0 {
					delete(left, number)
					response.Answers = append(response.Answers, &tenurev1.LineAnswer{Number: number})
				}
			}
			for _, number := range m.GetCancels() {
				delete(left, number)
				response.Answers = append(response.Answers, &tenurev1.LineAnswer{Number: number, Status: &tenurev1.LineStatus{Code: 1}})
			}
			// What is read by hand comes in the order of the wire: parts first, as a member sends them.
			if err = s.Send(&tenurev1.LineResponse{Parts: response.GetParts()}); err == nil {
				err = s.Send(&tenurev1.LineResponse{Answers: response.GetAnswers()})
			}
			if err != nil {
				return err
			}
		}
	}
}

// readAll reads a watch to its end.
func readAll(ctx context.Context, w tenurev1.WatchServiceClient, messages uint64) (int, error) {
	stream, err := w.Watch(ctx, &tenurev1.WatchRequest{AfterRevision: messages})
	for n := 0; ; n++ {
		if err != nil {
			return n, err
		}
		var m *tenurev1.WatchResponse
		if m, err = stream.Recv(); err != nil {
			return n, err
		}
		if m.GetResumeToken() != fmt.Sprint(n+1) {
			return n, fmt.Errorf("message %d is %q", n+1, m.GetResumeToken())
		}
	}
}

func TestManyWatchesShareLines(t *testing.T) {
	m := &watched{serve: echoWatches(100)}
	transport, w := connectWatched(t, m)
	if n := transport.Streams(t.Context()); n != 800 {
		t.Errorf("the connection carries %d streams, want 8 lines of 100", n)
	}
	var all sync.WaitGroup
	for range 250 { // More than two lines carry.
		all.Go(func() {
			if n, err := readAll(t.Context(), w, 100); n != 100 || !errors.Is(err, io.EOF) {
				t.Errorf("got %d messages and %v, want 100 and the end", n, err)
			}
		})
	}
	all.Wait()
	if lines, alone := m.counts(); lines > 3 || alone != 0 {
		t.Errorf("%d lines, %d streams", lines, alone)
	}
}

// TestAWatchThatIsNotReadIsNotSent reads one watch, and not another.
func TestAWatchThatIsNotReadIsNotSent(t *testing.T) {
	_, w := connectWatched(t, &watched{serve: echoWatches(10)})
	ctx, cancel := context.WithCancel(t.Context())
	still, err := w.Watch(ctx, &tenurev1.WatchRequest{AfterRevision: 1 << 40}) // What it had without credit fills all memory.
	if err != nil {
		t.Fatal(err)
	}
	if n, failed := readAll(t.Context(), w, 1000); n != 1000 || !errors.Is(failed, io.EOF) {
		t.Errorf("got %d messages and %v, want 1000 and the end", n, failed)
	}
	if _, err = still.Recv(); err != nil {
		t.Error(err)
	}
	cancel()
	for err == nil {
		_, err = still.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("got %v, want that it is canceled", err)
	}
}

func TestWatchesThatLinesDoNotCarryAreStreams(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(s lineStream) error
		lines int
	}{
		"the member has no lines":         {},
		"the member has no waits on them": {serve: echoWatches(0), lines: 1},
		"the member has no room": {lines: 1, serve: func(lineStream) error {
			return status.Error(codes.ResourceExhausted, "no room")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &watched{serve: tc.serve}
			transport, w := connectWatched(t, m)
			if n := transport.Streams(t.Context()); n != conn.LineStreamsMax {
				t.Errorf("the connection carries %d streams, want those of gRPC", n)
			}
			for range 3 {
				stream, err := w.Watch(t.Context(), &tenurev1.WatchRequest{})
				if err != nil {
					t.Fatal(err)
				}
				if r, failed := stream.Recv(); failed != nil || r.GetResumeToken() != "alone" {
					t.Errorf("got %v, %v, want a stream of its own", r, failed)
				}
				if _, err = stream.Recv(); !errors.Is(err, io.EOF) {
					t.Errorf("got %v, want the end", err)
				}
			}
			if lines, alone := m.counts(); lines != tc.lines || alone != 3 {
				t.Errorf("%d lines, %d streams; want %d, 3", lines, alone, tc.lines)
			}
		})
	}
}

// TestAFullLineOfWatchesOpensOthers has more watches than all lines of a connection carry.
func TestAFullLineOfWatchesOpensOthers(t *testing.T) {
	m := &watched{serve: echoWatches(2)}
	_, w := connectWatched(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for n := range 17 {
		stream, err := w.Watch(ctx, &tenurev1.WatchRequest{AfterRevision: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		r, err := stream.Recv()
		if want := map[bool]string{false: "1", true: "alone"}[n == 16]; err != nil || r.GetResumeToken() != want {
			t.Fatalf("watch %d: got %v, %v, want %q", n, r, err, want)
		}
	}
	if lines, alone := m.counts(); lines != 8 || alone != 1 {
		t.Errorf("%d lines, %d streams; want 8, 1", lines, alone)
	}
}

// TestALineThatEndsEndsItsWatches ends lines in ways of a member's, and of none.
func TestALineThatEndsEndsItsWatches(t *testing.T) {
	part := func(number uint64) *tenurev1.LineResponse {
		return &tenurev1.LineResponse{Parts: []*tenurev1.LinePart{{Numbers: []uint64{number}, Message: &tenurev1.LinePart_Watch{Watch: &tenurev1.WatchResponse{}}}}}
	}
	for name, tc := range map[string]struct {
		serve func(s lineStream) error
		code  codes.Code
	}{
		"it breaks":         {func(lineStream) error { return status.Error(codes.Unavailable, "broke") }, codes.Unavailable},
		"it ends well":      {func(lineStream) error { return nil }, codes.Unavailable},
		"a part of no call": {func(s lineStream) error { _ = s.Send(part(9)); <-s.Context().Done(); return nil }, codes.Internal},
		"it drains": {func(s lineStream) error {
			_ = s.Send(&tenurev1.LineResponse{Drain: &tenurev1.LineDrain{Status: &tenurev1.LineStatus{Code: 14}}})
			<-s.Context().Done()
			return nil
		}, codes.Unavailable},
		"the watch is refused": {func(s lineStream) error {
			_ = s.Send(&tenurev1.LineResponse{Answers: []*tenurev1.LineAnswer{{Number: 1, Status: &tenurev1.LineStatus{Code: 11}}}})
			<-s.Context().Done()
			return nil
		}, codes.OutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			m := &watched{serve: func(s lineStream) error {
				_ = bounds(s, 10)
				if _, err := s.Recv(); err != nil {
					return err
				}
				return tc.serve(s)
			}}
			_, w := connectWatched(t, m)
			if n, err := readAll(t.Context(), w, 1); n != 0 || status.Code(err) != tc.code {
				t.Errorf("got %d messages and %v, want %v", n, err, tc.code)
			}
			if _, alone := m.counts(); alone != 0 {
				t.Error("it was made a second time")
			}
		})
	}
}
