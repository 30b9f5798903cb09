package line_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/line"
	"github.com/tenure-io/tenure/server/reason"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open lets every call pass.
type open struct{}

func (open) Call(
	ctx context.Context, _ string, request proto.Message, handler grpc.UnaryHandler, fits func(proto.Message) bool,
) (*gate.Kept, error) {
	response, err := handler(ctx, request)
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	message, _ := response.(proto.Message)
	if get, ok := message.(*tenurev1.GetResponse); ok && !fits(get) {
		return nil, status.Error(codes.ResourceExhausted, "it does not fit")
	}
	return &gate.Kept{Message: message}, nil
}

func (open) Follow(to gate.Followed, _ string, serve func(grpc.ServerStream) error) error {
	ctx, end := context.WithCancel(to.Context())
	defer end()
	err := serve(followed{to: to, ctx: ctx})
	if e := reason.Of(err); e != nil {
		s, _ := reason.Status(e, "")
		return s.Err()
	}
	return err
}

// followed is a call as its service sees it.
type followed struct {
	grpc.ServerStream
	to  gate.Followed
	ctx context.Context
}

func (f followed) Context() context.Context { return f.ctx }
func (f followed) RecvMsg(any) error        { return nil }
func (f followed) SendMsg(m any) error      { return f.to.Send(f.ctx, m) }

func (open) Refuse(_ context.Context, _ string, err error) (func(), error) {
	s, _ := reason.Status(err, "")
	return func() {}, s.Err()
}

func (open) Owe(context.Context, proto.Message) (func(), bool) { return func() {}, true }
func (open) Cut(context.Context)                               {}
func (open) CallerOf(context.Context) share.Caller             { return share.Caller{} }

// keys answers Get at once, with the token that the call came with or 1 MiB, and Put when it is told to.
type keys struct {
	tenurev1.UnimplementedKVServiceServer
	let chan struct{} // closed: all; else one each
}

func (k *keys) Get(ctx context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	value := r.GetKey()
	if value == "large" {
		value = strings.Repeat("v", 1<<20)
	}
	for _, token := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		value = token
	}
	return &tenurev1.GetResponse{Kv: &tenurev1.KeyValue{Value: []byte(value)}}, nil
}

func (k *keys) Put(ctx context.Context, _ *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	select {
	case <-k.let:
		return &tenurev1.PutResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// client is the other end of a line.
type client struct {
	grpc.ServerStream
	ctx  context.Context
	to   chan *tenurev1.LineRequest
	from chan *tenurev1.LineResponse
	let  chan struct{}
	stop context.CancelFunc
	gone context.CancelFunc
	err  chan error
}

func (c *client) Context() context.Context { return c.ctx }

func (c *client) Recv() (*tenurev1.LineRequest, error) {
	select {
	case m, ok := <-c.to:
		if !ok {
			return nil, io.EOF
		}
		return m, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

func (c *client) Send(m *tenurev1.LineResponse) error { return c.SendMsg(m) }

// SendMsg takes a message as the server's codec does: one with parts is encoded already.
func (c *client) SendMsg(message any) error {
	m, ok := message.(*tenurev1.LineResponse)
	if !ok {
		encoded, _ := message.(interface{ Encoded() []byte })
		m = &tenurev1.LineResponse{}
		if err := proto.Unmarshal(encoded.Encoded(), m); err != nil {
			return err
		}
	}
	select {
	case c.from <- m:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// start serves a line in a bubble, and returns its client, who has read the bounds.
func start(t *testing.T) *client {
	t.Helper()
	return startWith(t, open{})
}

func startWith(t *testing.T, g line.Gate) *client {
	t.Helper()
	ctx, gone := context.WithCancel(t.Context())
	stopping, stop := context.WithCancel(t.Context())
	c := &client{
		ctx: ctx, to: make(chan *tenurev1.LineRequest), from: make(chan *tenurev1.LineResponse), let: make(chan struct{}), stop: stop, gone: gone,
		err: make(chan error, 1),
	}
	s := line.New(line.Options{Gate: g, Stopping: stopping, KV: &keys{let: c.let}, Locks: &locks{let: c.let}, Watches: watches{}})
	go func() {
		c.err <- s.Line(c)
		gone() // As gRPC does.
	}()
	t.Cleanup(func() { gone(); stop(); synctest.Wait() })
	if first := <-c.from; first.GetLimits().GetCallsMax() == 0 {
		t.Fatalf("the first message is %v, want the bounds", first)
	}
	return c
}

// answers reads so many answers, by number.
func (c *client) answers(t *testing.T, n int) map[uint64]*tenurev1.LineAnswer {
	t.Helper()
	all := map[uint64]*tenurev1.LineAnswer{}
	for len(all) < n {
		for _, a := range (<-c.from).GetAnswers() {
			if all[a.GetNumber()] != nil {
				t.Fatalf("%d is answered twice", a.GetNumber())
			}
			all[a.GetNumber()] = a
		}
	}
	synctest.Wait()
	select {
	case more := <-c.from:
		t.Fatalf("got %v after all answers", more)
	default:
	}
	return all
}

func get(number uint64, key string) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, Request: &tenurev1.LineCall_Get{Get: &tenurev1.GetRequest{Key: key}}}
}

func put(number uint64, bytes int) *tenurev1.LineCall {
	request := &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Value{Value: make([]byte, bytes)}}
	return &tenurev1.LineCall{Number: number, Request: &tenurev1.LineCall_Put{Put: request}}
}

func calls(all ...*tenurev1.LineCall) *tenurev1.LineRequest { return &tenurev1.LineRequest{Calls: all} }

func TestACallThatWaitsHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.to <- calls(put(1, 1), get(2, "a"), get(5, "b"))
		for number, a := range c.answers(t, 2) {
			if want := map[uint64]string{2: "a", 5: "b"}[number]; string(a.GetGet().GetKv().GetValue()) != want {
				t.Errorf("%d: got %v, want %q", number, a, want)
			}
		}
		close(c.let)
		if a := c.answers(t, 1)[1]; a.GetPut() == nil || a.GetStatus() != nil {
			t.Errorf("got %v, want the response of the put", a)
		}
		close(c.to)
		if err := <-c.err; err != nil {
			t.Errorf("the line ended with %v", err)
		}
	})
}

// TestWhatQueuesIsTheNextMessage does not read while many calls are answered.
func TestWhatQueuesIsTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for n := range uint64(300) {
			c.to <- calls(get(n+1, fmt.Sprint(n)))
		}
		synctest.Wait()
		first := len((<-c.from).GetAnswers()) // It was under way, with what there was then.
		if second := len((<-c.from).GetAnswers()); first == 300 || first+second != 300 {
			t.Errorf("the messages have %d and %d answers, want all in two", first, second)
		}
	})
}

func TestEachCallEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		timed := put(1, 1)
		timed.RemainingTime = durationpb.New(time.Second)
		c.to <- calls(timed, put(2, 1), put(3, 1))
		c.to <- &tenurev1.LineRequest{Cancels: []uint64{3, 99}}
		if a := c.answers(t, 1)[3]; codes.Code(a.GetStatus().GetCode()) != codes.Canceled {
			t.Errorf("got %v, want that it is canceled", a)
		}
		<-time.After(time.Second)
		if a := c.answers(t, 1)[1]; codes.Code(a.GetStatus().GetCode()) != codes.DeadlineExceeded {
			t.Errorf("got %v, want that its time is over", a)
		}
	})
}

func TestCallsThatCannotBeMadeAreRefused(t *testing.T) {
	invalid := get(1, "a")
	invalid.RemainingTime = &durationpb.Duration{Seconds: 1, Nanos: -1}
	stranger := get(1, "a")
	stranger.Credential = 7
	for name, tc := range map[string]struct {
		call *tenurev1.LineCall
		code codes.Code
	}{
		"nothing is asked":           {&tenurev1.LineCall{Number: 1}, codes.Unimplemented},
		"a time that is none":        {invalid, codes.InvalidArgument},
		"a credential without token": {stranger, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t)
				c.to <- calls(tc.call, get(2, "b"))
				all := c.answers(t, 2)
				if codes.Code(all[1].GetStatus().GetCode()) != tc.code || len(all[1].GetStatus().GetDetails()) == 0 || all[2].GetGet() == nil {
					t.Errorf("got %v, want %v with details, and the other answered", all, tc.code)
				}
			})
		})
	}
}

func TestCallsBeyondTheBoundsAreNotStarted(t *testing.T) {
	for name, tc := range map[string]struct{ calls, bytes, started int }{
		"too many calls":          {1030, 1, 1024},
		"too many bytes":          {6, 1 << 20, 3},
		"one that is large alone": {1, 5 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t)
				var all []*tenurev1.LineCall
				for n := range tc.calls {
					all = append(all, put(uint64(n+1), tc.bytes))
				}
				c.to <- calls(all...)
				for number, a := range c.answers(t, tc.calls-tc.started) {
					if codes.Code(a.GetStatus().GetCode()) != codes.ResourceExhausted {
						t.Errorf("%d: got %v", number, a)
					}
				}
				close(c.let)
				c.answers(t, tc.started)
			})
		})
	}
}

func TestWhatIsNoLineEndsIt(t *testing.T) {
	many := make([]*tenurev1.LineCall, 5000)
	for n := range many {
		many[n] = get(uint64(n+1), "a")
	}
	credentials := make([]*tenurev1.LineCredential, 70)
	for n := range credentials {
		credentials[n] = &tenurev1.LineCredential{Number: uint32(n + 1), Token: "t"}
	}
	for name, message := range map[string]*tenurev1.LineRequest{
		"a number twice":          calls(get(1, "a"), get(1, "b")),
		"numbers that fall":       calls(get(2, "a"), get(1, "b")),
		"the number zero":         calls(get(0, "a")),
		"calls without end":       calls(many...),
		"credentials without end": {Credentials: credentials},
		"cancels without end":     {Cancels: make([]uint64, 5000)},
		"credits without end":     {Credits: make([]*tenurev1.LineCredit, 5000)},
		"one credential, often":   {Credentials: slices.Repeat([]*tenurev1.LineCredential{{Number: 1, Token: "t"}}, 65)},
		"a credential of zero":    {Credentials: []*tenurev1.LineCredential{{Token: "t"}}},
		"a token without end":     {Credentials: []*tenurev1.LineCredential{{Number: 1, Token: string(make([]byte, 20<<10))}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t)
				go func() {
					for range c.from {
					}
				}()
				defer close(c.from)
				c.to <- message
				if e, ok := errors.AsType[*reason.Error](<-c.err); !ok || e.Reason != tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT {
					t.Errorf("got %v, want that the argument is invalid", e)
				}
			})
		})
	}
}

func TestEachCallHasItsCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		second := get(2, "plain")
		second.Credential = 1
		third := get(3, "plain")
		third.Credential = 1
		c.to <- &tenurev1.LineRequest{
			Credentials: []*tenurev1.LineCredential{{Number: 1, Token: "old"}}, Calls: []*tenurev1.LineCall{get(1, "plain"), second},
		}
		all := c.answers(t, 2)
		c.to <- &tenurev1.LineRequest{
			Credentials: []*tenurev1.LineCredential{{Number: 1, Token: "new"}}, Calls: []*tenurev1.LineCall{third},
		}
		all[3] = c.answers(t, 1)[3]
		for number, want := range map[uint64]string{1: "plain", 2: "Bearer old", 3: "Bearer new"} {
			if got := string(all[number].GetGet().GetKv().GetValue()); got != want {
				t.Errorf("%d came with %q, want %q", number, got, want)
			}
		}
	})
}

// TestAMemberThatStopsAnswersWhatItStarted stops it while a call is under way.
func TestAMemberThatStopsAnswersWhatItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.to <- calls(put(7, 1))
		synctest.Wait()
		c.stop()
		drain := (<-c.from).GetDrain()
		if drain.GetUpTo() != 7 || codes.Code(drain.GetStatus().GetCode()) != codes.Unavailable {
			t.Errorf("got %v, want that it drains up to 7", drain)
		}
		c.to <- calls(get(8, "late"))
		close(c.let)
		if a := c.answers(t, 1)[7]; a.GetPut() == nil {
			t.Errorf("got %v, want the response of the put", a)
		}
		if err := <-c.err; !errors.Is(err, reason.ErrStopping) {
			t.Errorf("the line ended with %v", err)
		}
	})
}

// TestWhoDoesNotReadIsNotRead sends calls and reads no answers.
func TestWhoDoesNotReadIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		sent := uint64(0)
		for full := false; !full; {
			synctest.Wait()
			select {
			case c.to <- calls(get(sent+1, "a")):
				sent++
			default:
				full = true
			}
			if sent > 1_000_000 {
				t.Fatal("it is read for ever")
			}
		}
		if sent < 1000 {
			t.Errorf("it is read no more after %d calls", sent)
		}
		c.answers(t, int(sent))
		c.to <- calls(get(sent+1, "a"))
		c.answers(t, 1)
	})
}

// TestALineThatIsNotReadKeepsLittle reads values of 1 MB in calls that come together, and then their answers.
func TestALineThatIsNotReadKeepsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 100
		c := start(t)
		request := &tenurev1.LineRequest{}
		for number := uint64(1); number <= asked; number++ {
			request.Calls = append(request.Calls, get(number, "large"))
		}
		c.to <- request
		synctest.Wait()
		served := 0
		for _, a := range c.answers(t, asked) {
			if a.GetStatus() == nil {
				served++
			}
		}
		if served < 30 || served > 33 { // One of them is being sent.
			t.Errorf("%d answers of 1 MiB were kept, want those that have 32 MiB", served)
		}
	})
}

// TestALineThatBreaksCancelsItsCalls breaks it while a call is under way.
func TestALineThatBreaksCancelsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		ctx, broken := context.WithCancel(t.Context())
		c2 := &client{
			ctx: ctx, to: make(chan *tenurev1.LineRequest), from: make(chan *tenurev1.LineResponse, 1), let: c.let, err: make(chan error, 1),
		}
		s := line.New(line.Options{Gate: open{}, Stopping: t.Context(), KV: &keys{let: c.let}})
		go func() { c2.err <- s.Line(c2) }()
		c2.to <- calls(put(1, 1))
		synctest.Wait()
		broken()
		if err := <-c2.err; err == nil {
			t.Error("it ended well")
		}
	})
}
