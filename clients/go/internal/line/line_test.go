package line_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/line"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member serves lines as a test wants, and keys one by one.
type member struct {
	tenurev1.UnimplementedLineServiceServer
	tenurev1.UnimplementedKVServiceServer
	serve func(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error

	mu    sync.Mutex // Guards what follows.
	lines int
	alone int // Calls that were made by themselves.
}

func (m *member) Line(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
	m.mu.Lock()
	m.lines++
	m.mu.Unlock()
	return m.serve(stream)
}

func (m *member) Get(_ context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alone++
	return gotten(r), nil
}

func gotten(r *tenurev1.GetRequest) *tenurev1.GetResponse {
	return &tenurev1.GetResponse{Kv: &tenurev1.KeyValue{Key: r.GetKey()}}
}

// counts returns how many lines there were, and how many calls were made by themselves.
func (m *member) counts() (lines, alone int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines, m.alone
}

// connect returns a connection with a line to a member.
func connect(t *testing.T, m *member) tenurev1.KVServiceClient {
	t.Helper()
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	tenurev1.RegisterKVServiceServer(server, m)
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
	return tenurev1.NewKVServiceClient(transport)
}

// open sends the bounds of a line.
func open(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse], callsMax uint32) error {
	return stream.Send(&tenurev1.LineResponse{Limits: &tenurev1.LineLimits{CallsMax: callsMax, RequestBytesMax: 1 << 20}})
}

// echo answers every Get.
func echo(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
	if err := open(stream, 1000); err != nil {
		return err
	}
	tokens, last := map[uint32]string{}, uint64(0)
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // The client closed it.
		}
		for _, c := range message.GetCredentials() {
			tokens[c.GetNumber()] = c.GetToken()
		}
		answers := &tenurev1.LineResponse{}
		for _, c := range message.GetCalls() {
			if c.GetNumber() <= last {
				return status.Error(codes.InvalidArgument, "numbers must rise")
			}
			last = c.GetNumber()
			response := gotten(c.GetGet())
			response.Kv.SessionId = tokens[c.GetCredential()]
			answers.Answers = append(answers.Answers, &tenurev1.LineAnswer{Number: last, Response: &tenurev1.LineAnswer_Get{Get: response}})
		}
		if err = stream.Send(answers); err != nil {
			return err
		}
	}
}

func TestManyCallsShareALine(t *testing.T) {
	m := &member{serve: echo}
	kv := connect(t, m)
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			for i := range 50 {
				key := fmt.Sprint(n, "/", i)
				if r, err := kv.Get(t.Context(), &tenurev1.GetRequest{Key: key}); err != nil || r.GetKv().GetKey() != key {
					t.Errorf("got %v, %v, want %s", r, err, key)
				}
			}
		})
	}
	all.Wait()
	if lines, alone := m.counts(); lines != 1 || alone != 0 {
		t.Errorf("%d lines, %d calls by themselves", lines, alone)
	}
}

func TestTokensAreCredentials(t *testing.T) {
	kv := connect(t, &member{serve: echo})
	for n := range 30 { // More than a line knows at a time, and some of them again.
		token := fmt.Sprint("token", n%20)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		r, err := kv.Get(ctx, &tenurev1.GetRequest{Key: "k"})
		if n == 0 || n == 20 {
			token = "" // That of the stream itself.
		}
		if err != nil || r.GetKv().GetSessionId() != token {
			t.Errorf("got %q, %v, want %q", r.GetKv().GetSessionId(), err, token)
		}
	}
}

// noRoom is what a member says whose line has no room for a call by that limit.
func noRoom(limit string) *tenurev1.LineStatus {
	detail, _ := anypb.New(&errdetails.ErrorInfo{
		Domain: "tenure.io", Reason: "TOO_MANY_REQUESTS", Metadata: map[string]string{"limit": limit, "applied": "no"},
	})
	return &tenurev1.LineStatus{Code: int32(codes.ResourceExhausted), Message: "no room", Details: []*anypb.Any{detail}}
}

func TestCallsThatLinesDoNotServeAreMadeByThemselves(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error
		call  func(t *testing.T, kv tenurev1.KVServiceClient) error
		lines int
	}{
		"the member has no lines": {lines: 0},
		"the member has no room": {lines: 1, serve: func(grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
			return status.Error(codes.ResourceExhausted, "no room")
		}},
		"the member does not know the call": {lines: 1, serve: func(s grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
			_ = open(s, 10)
			for {
				message, err := s.Recv()
				if err != nil {
					return nil //nolint:nilerr // The client closed it.
				}
				for _, c := range message.GetCalls() {
					_ = s.Send(&tenurev1.LineResponse{Answers: []*tenurev1.LineAnswer{
						{Number: c.GetNumber(), Status: &tenurev1.LineStatus{Code: int32(codes.Unimplemented)}},
					}})
				}
			}
		}},
		"the line has no room for the call": {lines: 1, serve: func(s grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
			_ = open(s, 10)
			for asked := 1; ; asked++ {
				message, err := s.Recv()
				if err != nil {
					return nil //nolint:nilerr // The client closed it.
				}
				for _, c := range message.GetCalls() {
					if asked > 1 {
						return status.Error(codes.InvalidArgument, "the line was asked again")
					}
					_ = s.Send(&tenurev1.LineResponse{Answers: []*tenurev1.LineAnswer{{Number: c.GetNumber(), Status: noRoom("line_calls_max")}}})
				}
			}
		}},
		"the request is large": {serve: echo, call: func(t *testing.T, kv tenurev1.KVServiceClient) error {
			_, err := kv.Get(t.Context(), &tenurev1.GetRequest{Key: strings.Repeat("k", 100_000)})
			return err
		}},
		"it sends metadata": {serve: echo, call: func(t *testing.T, kv tenurev1.KVServiceClient) error {
			_, err := kv.Get(metadata.AppendToOutgoingContext(t.Context(), "k", "v"), &tenurev1.GetRequest{})
			return err
		}},
		"it wants metadata": {serve: echo, call: func(t *testing.T, kv tenurev1.KVServiceClient) error {
			var header metadata.MD
			_, err := kv.Get(t.Context(), &tenurev1.GetRequest{}, grpc.Header(&header))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &member{serve: tc.serve}
			kv := connect(t, m)
			if tc.call == nil {
				tc.call = func(t *testing.T, kv tenurev1.KVServiceClient) error {
					_, err := kv.Get(t.Context(), &tenurev1.GetRequest{})
					return err
				}
			}
			for range 3 {
				if err := tc.call(t, kv); err != nil {
					t.Error(err)
				}
			}
			if lines, alone := m.counts(); lines != tc.lines || alone != 3 {
				t.Errorf("%d lines, %d calls by themselves; want %d, 3", lines, alone, tc.lines)
			}
		})
	}
}

// TestAFullLineDelaysNone makes more calls than a line may have, none of which it answers.
func TestAFullLineDelaysNone(t *testing.T) {
	opened := make(chan struct{})
	m := &member{serve: func(s grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
		_ = open(s, 2)
		close(opened)
		<-s.Context().Done()
		return nil
	}}
	kv := connect(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	first := func() { _, err := kv.Get(ctx, &tenurev1.GetRequest{}); failed <- err }
	for range 300 { // What there may be before the bounds are known, and more.
		go first()
	}
	<-opened
	for range 300 - 256 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if _, err := kv.Get(t.Context(), &tenurev1.GetRequest{}); err != nil {
		t.Error(err)
	}
	cancel()
	waited := 0
	for range 256 {
		switch err := <-failed; {
		case status.Code(err) == codes.Canceled:
			waited++
		case err != nil:
			t.Error(err)
		}
	}
	if waited < 2 {
		t.Errorf("%d calls were on the line, want 2 or more", waited)
	}
}

// TestACallEndsWithItsContext leaves a call that is not answered, of which the member hears.
func TestACallEndsWithItsContext(t *testing.T) {
	canceled := make(chan uint64, 1)
	m := &member{serve: func(s grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
		_ = open(s, 10)
		for {
			message, err := s.Recv()
			if err != nil {
				return nil //nolint:nilerr // The client closed it.
			}
			for _, c := range message.GetCalls() {
				if left := c.GetRemainingTime().AsDuration(); left <= 0 || left > time.Minute {
					t.Errorf("there are %v left", left)
				}
			}
			for _, number := range message.GetCancels() {
				canceled <- number
			}
		}
	}}
	kv := connect(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := kv.Get(ctx, &tenurev1.GetRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v, want that its time is over", err)
	}
	if number := <-canceled; number != 1 {
		t.Errorf("%d was canceled, want 1", number)
	}
}

// TestACallThatIsOverIsNotSent makes calls after their contexts have ended. The member answers at once, so that answer and end would often be there
// together.
func TestACallThatIsOverIsNotSent(t *testing.T) {
	m := &member{serve: echo}
	kv := connect(t, m)
	if _, err := kv.Get(t.Context(), &tenurev1.GetRequest{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 500 {
		if got, err := kv.Get(ctx, &tenurev1.GetRequest{}); status.Code(err) != codes.Canceled {
			t.Fatalf("got %v, %v, want that it was canceled", got, err)
		}
	}
	if _, alone := m.counts(); alone != 0 {
		t.Errorf("%d calls were made by themselves", alone)
	}
}

// TestALineThatEndsLeavesCallsInDoubt ends lines in ways of a member's, and of none.
func TestALineThatEndsLeavesCallsInDoubt(t *testing.T) {
	type stream = grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]
	answer := func(number uint64) *tenurev1.LineResponse {
		return &tenurev1.LineResponse{Answers: []*tenurev1.LineAnswer{{Number: number, Response: &tenurev1.LineAnswer_Get{Get: gotten(nil)}}}}
	}
	for name, tc := range map[string]struct {
		serve func(s stream) error
		code  codes.Code
	}{
		"it breaks":               {func(stream) error { return status.Error(codes.Unavailable, "broke") }, codes.Unavailable},
		"it ends well":            {func(stream) error { return nil }, codes.Unavailable},
		"it answers another call": {func(s stream) error { _ = s.Send(answer(9)); <-s.Context().Done(); return nil }, codes.Internal},
		"it drains and starts nothing": {func(s stream) error {
			_ = s.Send(&tenurev1.LineResponse{Drain: &tenurev1.LineDrain{Status: &tenurev1.LineStatus{Code: 14}}})
			<-s.Context().Done()
			return nil
		}, codes.Unavailable},
		"it drains without saying why": {func(s stream) error {
			_ = s.Send(&tenurev1.LineResponse{Drain: &tenurev1.LineDrain{}})
			<-s.Context().Done()
			return nil
		}, codes.Internal},
		"it answers as the API refuses": {func(s stream) error {
			_ = s.Send(&tenurev1.LineResponse{Answers: []*tenurev1.LineAnswer{{Number: 1, Status: &tenurev1.LineStatus{Code: 5, Message: "none"}}}})
			<-s.Context().Done()
			return nil
		}, codes.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			m := &member{serve: func(s stream) error {
				_ = open(s, 10)
				if _, err := s.Recv(); err != nil {
					return err
				}
				return tc.serve(s)
			}}
			kv := connect(t, m)
			if _, err := kv.Get(t.Context(), &tenurev1.GetRequest{}); status.Code(err) != tc.code {
				t.Errorf("got %v, want %v", err, tc.code)
			}
			if _, alone := m.counts(); alone != 0 {
				t.Error("it was made a second time")
			}
		})
	}
}
