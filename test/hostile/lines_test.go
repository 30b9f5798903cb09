package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// lineAttacks misuse lines.
func lineAttacks() []attack {
	return []attack{
		{entry: "lines", name: "messages that no line may carry", attack: oddLines, after: nothingStays},
		{entry: "lines", name: "odd texts in every field of calls on lines", attack: oddLineCalls, prepare: giveSession, pins: func(bool) int { return intakeMiB }},
		{entry: "lines", name: "lines that are flooded", attack: floodLines, alike: fillLines, after: nothingStays, pins: func(long bool) int {
			return 64 + writes(long) // Requests of 4 MiB on each line.
		}},
		{
			entry: "lines", name: "lines that are never read", attack: lineUnread, prepare: putMuch, after: nothingStays,
			shows: `tenure_server_shared_refused_total{limit="answer_bytes_max"}`, pins: func(bool) int { return answersMiB + callsMiB },
		},
		{entry: "lines", name: "lines that break", attack: breakLines, after: nothingStays, pins: func(long bool) int {
			return lineBreaks(long) / 8
		}},
		{entry: "lines", name: "credits that are odd", attack: abuseCredits, prepare: putMuch, after: nothingStays, pins: func(long bool) int {
			return 64 + creditLines(long)*lineWatches*32>>10
		}},
	}
}

// lastOneAnswer is the field of LineCall behind which there are calls with parts.
var lastOneAnswer = (&tenurev1.LineCall{}).ProtoReflect().Descriptor().Fields().ByName("get_leader").Number()

// idleGoroutines is how many goroutines a member may have that nothing is asked of. Most of them are workers of the gRPC library.
const idleGoroutines = 700

// callsMiB is what one caller may pin in calls under way: 32 KiB each, half of 10 000.
const callsMiB = 5000 * 32 >> 10

// nothingStays waits until nothing is left of lines: no stream, no call, no wait, no answer and no goroutine.
func nothingStays(s *scene) {
	s.t.Helper()
	s.quiet.stop()
	_ = s.quiet.conn.Close() // Nothing uses it any more.
	left := func() []string {
		var all []string
		for metric, most := range map[string]float64{
			`tenure_server_streams`:                                        0,
			`tenure_server_shared_used{limit="calls_max"}`:                 0,
			`tenure_server_shared_used{limit="waits_max"}`:                 0,
			`tenure_server_shared_used{limit="answer_bytes_max"}`:          0,
			`tenure_server_shared_used{limit="renewals_and_releases_max"}`: 0,
			`go_goroutines`: idleGoroutines,
		} {
			if n := s.counted(metric); n > most {
				all = append(all, fmt.Sprintf("%s is %v, want at most %v", metric, n, most))
			}
		}
		return all
	}
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for all := left(); len(all) > 0; all = left() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatal(strings.Join(all, "; "))
		}
	}
}

// hostileLine is a line that an attacker opened.
type hostileLine = grpc.BidiStreamingClient[tenurev1.LineRequest, tenurev1.LineResponse]

// openLine opens a line, and reads its bounds.
func openLine(ctx context.Context, conn *grpc.ClientConn) (hostileLine, error) {
	l, err := tenurev1.NewLineServiceClient(conn).Line(ctx)
	if err != nil {
		return nil, err
	}
	first, err := l.Recv()
	if err == nil && first.GetLimits() == nil {
		err = fmt.Errorf("the first message is %v, want the bounds", first)
	}
	return l, err
}

// lineGet returns a call that reads a key.
func lineGet(number uint64) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, Request: &tenurev1.LineCall_Get{Get: &tenurev1.GetRequest{Key: "hostile/none"}}}
}

// oddLines sends messages each of which must end its line with a status that says why, and calls that must be answered with one.
func oddLines(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	for name, odd := range oddLineMessages() {
		err := a.oddLine(ctx, conn, odd)
		a.answered(name, err)
		if info := rig.ErrorInfo(err); info == nil || status.Code(err) != codes.InvalidArgument && status.Code(err) != codes.ResourceExhausted {
			return fmt.Errorf("%s: the line ended with %w, want a status with its reason", name, err)
		}
	}
	return a.oddCallsOnALine(ctx, conn)
}

// oddLineMessages returns messages that end a line, each encoded.
func oddLineMessages() map[string][]byte {
	encoded := func(m *tenurev1.LineRequest) []byte {
		data, err := proto.Marshal(m)
		if err != nil {
			panic(err) // It cannot fail.
		}
		return data
	}
	calls := func(numbers ...uint64) []byte {
		m := &tenurev1.LineRequest{}
		for _, n := range numbers {
			m.Calls = append(m.Calls, lineGet(n))
		}
		return encoded(m)
	}
	token := func(number uint32, text string) *tenurev1.LineCredential {
		return &tenurev1.LineCredential{Number: number, Token: text}
	}
	many := make([]uint64, 5000)
	credentials := &tenurev1.LineRequest{}
	for n := range many {
		many[n] = uint64(n + 1)
		credentials.Credentials = append(credentials.Credentials, token(uint32(n+1), "t"))
	}
	whole := calls(1, 2, 3)
	return map[string][]byte{
		"half a message":               whole[:len(whole)/2],
		"no message":                   bytes.Repeat([]byte{0xff}, 1000),
		"a token that is not UTF-8":    bytes.ReplaceAll(encoded(&tenurev1.LineRequest{Credentials: []*tenurev1.LineCredential{token(1, "abc")}}), []byte("abc"), []byte("a\xff\xc3")),
		"a number twice":               calls(7, 7),
		"numbers that fall":            calls(7, 6),
		"a number of zero":             calls(0),
		"more calls than may be":       calls(many...),
		"more cancels than may be":     encoded(&tenurev1.LineRequest{Cancels: many}),
		"more credits than may be":     encoded(&tenurev1.LineRequest{Credits: slices.Repeat([]*tenurev1.LineCredit{{Number: 1, Messages: 1}}, 5000)}),
		"more credentials than may be": encoded(credentials),
		"one credential, often":        encoded(&tenurev1.LineRequest{Credentials: slices.Repeat([]*tenurev1.LineCredential{token(1, "t")}, 5000)}),
		"a credential of zero":         encoded(&tenurev1.LineRequest{Credentials: []*tenurev1.LineCredential{token(0, "t")}}),
		"a token without end":          encoded(&tenurev1.LineRequest{Credentials: []*tenurev1.LineCredential{token(1, strings.Repeat("t", 20<<10))}}),
		"more than a message may have": make([]byte, 3<<20),
	}
}

// oddLine sends one message on a line of its own, and returns how the line ended.
func (a *attacker) oddLine(ctx context.Context, conn *grpc.ClientConn, message []byte) error {
	stream, err := conn.NewStream(ctx, &tenurev1.LineService_ServiceDesc.Streams[0], tenurev1.LineService_Line_FullMethodName,
		grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		return err
	}
	if err = stream.SendMsg(message); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for { // Calls before the odd one may be answered.
		if err = stream.RecvMsg(nil); err != nil {
			return err
		}
	}
}

// oddCallsOnALine makes calls that are refused each, between others that are served, all on one line.
func (a *attacker) oddCallsOnALine(ctx context.Context, conn *grpc.ClientConn) error {
	l, err := openLine(ctx, conn)
	if err != nil {
		return err
	}
	unknown := &tenurev1.LineCall{}
	unknown.ProtoReflect().SetUnknown([]byte{0xfa, 0x07, 1, 'x'}) // A field of 127: a kind of call that nobody has.
	stranger, broken, past, far := lineGet(0), lineGet(0), lineGet(0), lineGet(0)
	stranger.Credential = 9
	broken.RemainingTime = &durationpb.Duration{Seconds: 1, Nanos: -1}
	past.RemainingTime = &durationpb.Duration{Seconds: -1}
	far.RemainingTime = &durationpb.Duration{Seconds: 315_576_000_000}
	odd := []struct {
		call *tenurev1.LineCall
		code codes.Code
	}{
		{&tenurev1.LineCall{}, codes.Unimplemented},
		{unknown, codes.Unimplemented},
		{stranger, codes.InvalidArgument},
		{broken, codes.InvalidArgument},
		{past, codes.DeadlineExceeded},
		{far, codes.NotFound},
	}
	request := &tenurev1.LineRequest{Cancels: []uint64{0, 1 << 40, math.MaxUint64 - 1}} // None of them is under way.
	for i, o := range odd {
		o.call.Number = uint64(2*i + 1)
		request.Calls = append(request.Calls, o.call, lineGet(uint64(2*i+2)))
	}
	last := lineGet(math.MaxUint64)
	request.Calls = append(request.Calls, last)
	if err = l.Send(request); err != nil {
		return err
	}
	answers, err := a.answersOf(l, len(request.GetCalls()))
	if err != nil {
		return err
	}
	for _, c := range request.GetCalls() {
		want := codes.NotFound
		if n := c.GetNumber(); n%2 == 1 && n < math.MaxUint64 {
			want = odd[n/2].code
		}
		if got := answers[c.GetNumber()]; codes.Code(got.GetStatus().GetCode()) != want {
			return fmt.Errorf("call %v: got %v, want %v", c, got, want)
		}
	}
	return l.CloseSend()
}

// answersOf reads so many answers, each of another call, and notes them. What failed has a reason.
func (a *attacker) answersOf(l hostileLine, n int) (map[uint64]*tenurev1.LineAnswer, error) {
	all := map[uint64]*tenurev1.LineAnswer{}
	for len(all) < n {
		r, err := l.Recv()
		if err != nil {
			a.answered("a line", err)
			return all, fmt.Errorf("%d of %d answers: %w", len(all), n, err)
		}
		for _, answer := range r.GetAnswers() {
			if all[answer.GetNumber()] != nil {
				return all, fmt.Errorf("call %d is answered twice", answer.GetNumber())
			}
			all[answer.GetNumber()] = answer
			err := answerError(answer)
			a.answered("a call on a line", err)
			if err != nil && rig.ErrorInfo(err) == nil {
				return all, fmt.Errorf("call %d failed without a reason: %w", answer.GetNumber(), err)
			}
		}
	}
	return all, nil
}

// answerError returns how the call of an answer failed; nil if it did not.
func answerError(answer *tenurev1.LineAnswer) error {
	failed := answer.GetStatus()
	if failed == nil {
		return nil
	}
	p := status.New(codes.Code(failed.GetCode()), failed.GetMessage()).Proto()
	p.Details = failed.GetDetails()
	return status.ErrorProto(p)
}

// oddLineCalls puts odd texts into every field of every call that lines carry. A call with a text that is not UTF-8 ends its line.
func oddLineCalls(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	kinds := (&tenurev1.LineCall{}).ProtoReflect().Descriptor().Oneofs().ByName("request").Fields()
	calls := 0
	for i := range kinds.Len() {
		kind := kinds.Get(i)
		var all []*tenurev1.LineCall
		for _, at := range a.textPlaces(kind.Message(), 1) {
			for _, text := range oddTexts() {
				all = append(all, a.oddLineCall(kind, at, strings.ToValidUTF8(text, "\x02")))
			}
		}
		calls += len(all)
		l, err := openLine(ctx, conn)
		if err != nil {
			return err
		}
		for n, c := range all { // One by one: some of them are larger than a line may have together.
			c.Number = uint64(n + 1)
			if proto.Size(c) > 1<<20 {
				continue // It would end the line.
			}
			if err = l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{c}}); err == nil {
				_, err = a.answersOf(l, 1)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", kind.Name(), err)
			}
		}
		if err = l.CloseSend(); err != nil {
			return err
		}
	}
	const callsMin = 200
	if calls < callsMin {
		return fmt.Errorf("%d calls were made, want at least %d", calls, callsMin)
	}
	return nil
}

// oddLineCall returns a call of a kind with a text at one of its places.
func (a *attacker) oddLineCall(kind protoreflect.FieldDescriptor, at textPlace, text string) *tenurev1.LineCall {
	c := &tenurev1.LineCall{RemainingTime: durationpb.New(2 * time.Second)} // Some calls wait.
	if kind.Number() > lastOneAnswer {
		c.RemainingTime = durationpb.New(10 * time.Millisecond) // These last until then, unless they are refused.
	}
	request := a.usually(c.ProtoReflect().Mutable(kind).Message())
	if destroy, ok := request.Interface().(*tenurev1.DestroySessionRequest); ok {
		destroy.SessionId = noSession // Other calls need the usual one.
	}
	at(request, text)
	return c
}

// floodLines sends on each of many lines far more calls than it may have under way, cancels them all, and reads what is answered.
func floodLines(ctx context.Context, a *attacker) error {
	if err := putOnLines(ctx, a, 4096, true); err != nil || a.Long {
		return err
	}
	if a.refused() == 0 {
		return errors.New("nothing was refused: the flood was none")
	}
	return nil
}

// fillLines has as many calls under way on as many lines as a caller may have, by clients that mean well.
func fillLines(ctx context.Context, a *attacker) error { return putOnLines(ctx, a, 64, false) }

// putOnLines sends so many calls at a time on each of many lines, cancels them or not, and reads what is answered.
func putOnLines(ctx context.Context, a *attacker, calls int, cancels bool) error {
	value := &tenurev1.PutRequest_Value{Value: make([]byte, 64)}
	var all sync.WaitGroup
	failed := make(chan error, 1000)
	for line := range a.count(8, 64) {
		conn, err := a.dial(a.Members[0].GRPC)
		if err != nil {
			return err
		}
		all.Go(func() {
			failed <- func() error {
				l, err := openLine(ctx, conn)
				if err != nil {
					return err
				}
				number := uint64(0)
				for round := 0; round < a.count(3, 1<<20) && !a.over(); round++ {
					request := &tenurev1.LineRequest{}
					for n := range calls {
						number++
						put := &tenurev1.PutRequest{Key: fmt.Sprintf("hostile/%d/%d", line, n), Content: value}
						request.Calls = append(request.Calls, &tenurev1.LineCall{Number: number, Request: &tenurev1.LineCall_Put{Put: put}})
						if cancels {
							request.Cancels = append(request.Cancels, number)
						}
					}
					if err := l.Send(request); err != nil {
						return err
					}
					if _, err := a.answersOf(l, calls); err != nil {
						return err
					}
				}
				return l.CloseSend()
			}()
		})
	}
	if a.Long {
		return nil
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// lineUnread reads large values on many lines, as often as they let it, and reads no answer.
func lineUnread(ctx context.Context, a *attacker) error {
	for range a.count(2, 16) {
		w, err := a.wire(ctx, a.Members[0].GRPC)
		if err != nil {
			return err
		}
		w.deaf()
		open := true // The member may hang up.
		for stream := uint32(1); stream < 40 && open; stream += 2 {
			request := &tenurev1.LineRequest{}
			for n := range uint64(1000) {
				get := &tenurev1.GetRequest{Key: fmt.Sprint("much/", n%16)}
				request.Calls = append(request.Calls, &tenurev1.LineCall{Number: n + 1, Request: &tenurev1.LineCall_Get{Get: get}})
			}
			open = w.begin(stream, streamKind{tenurev1.LineService_Line_FullMethodName, func(int) proto.Message { return request }}, 0) == nil
		}
	}
	return nil
}

// lineBreaks is how many lines break.
func lineBreaks(long bool) int {
	if long {
		return 4000
	}
	return 64
}

// breakLines breaks lines that have waits and changes under way: it leaves the call, cuts the connection, or closes its side and reads nothing.
func breakLines(ctx context.Context, a *attacker) error {
	const waits = 100
	own, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	session, err := tenurev1.NewSessionServiceClient(own).CreateSession(ctx, newSession())
	if err != nil {
		return err
	}
	lock := &tenurev1.TryAcquireLockRequest{Key: "hostile/broken", SessionId: session.GetSessionId()}
	if _, err = tenurev1.NewLockServiceClient(own).TryAcquireLock(ctx, lock); err != nil {
		return err
	}
	for i := range lineBreaks(a.Long) {
		conn, err := a.dial(a.Members[0].GRPC)
		if err != nil {
			return err
		}
		calling, leave := context.WithCancel(ctx)
		l, err := openLine(calling, conn)
		if err != nil {
			leave()
			return err
		}
		request := &tenurev1.LineRequest{}
		for n := range uint64(waits) {
			wait := &tenurev1.TryAcquireLockRequest{
				Key: "hostile/broken", SessionId: session.GetSessionId(), Wait: durationpb.New(patience), Options: &tenurev1.CallOptions{Owner: fmt.Sprint(n)},
			}
			put := &tenurev1.PutRequest{Key: "hostile/broken", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 1000)}}
			request.Calls = append(request.Calls,
				&tenurev1.LineCall{Number: 2*n + 1, Request: &tenurev1.LineCall_TryAcquireLock{TryAcquireLock: wait}},
				&tenurev1.LineCall{Number: 2*n + 2, Request: &tenurev1.LineCall_Put{Put: put}})
		}
		if err = l.Send(request); err == nil {
			_, err = l.Recv() // It has begun.
		}
		if err != nil {
			leave()
			return err
		}
		switch i % 3 {
		case 0:
			leave()
		case 1:
			_ = conn.Close() // A second time at the end.
			leave()
		default:
			_ = l.CloseSend() // The line ends with the connection.
			context.AfterFunc(ctx, leave)
		}
	}
	return nil
}
