package line_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// locks grants each lock when it is told to, and before that says as often as the key is long that the position changed.
type locks struct {
	tenurev1.UnimplementedLockServiceServer
	let chan struct{}
}

func (l *locks) AcquireLock(r *tenurev1.AcquireLockRequest, s grpc.ServerStreamingServer[tenurev1.AcquireLockResponse]) error {
	if err := s.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Queued{}}); err != nil {
		return err
	}
	for range r.GetKey() {
		if err := s.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Moved{Moved: &tenurev1.LockMovedStep{}}}); err != nil {
			return err
		}
	}
	select {
	case <-l.let:
		return s.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Granted{}})
	case <-s.Context().Done():
		return reason.AfterChange(reason.ErrStopping)
	}
}

// watches sends the same messages to all watches, as many as after_revision says, and then waits for the end.
type watches struct {
	tenurev1.UnimplementedWatchServiceServer
}

// event is a message that many watches share.
type event []byte

func (e event) Encoded() []byte { return e }

// events are what watches send.
var events = func() (all []event) {
	for n := range uint64(100) {
		data, err := proto.Marshal(&tenurev1.WatchResponse{ResumeToken: fmt.Sprint(n)})
		if err != nil {
			panic(err)
		}
		all = append(all, data)
	}
	return all
}()

func (watches) Watch(r *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	for n := range r.GetAfterRevision() {
		if err := s.SendMsg(events[n]); err != nil {
			return err
		}
	}
	if r.GetLimit() > 0 {
		return nil
	}
	<-s.Context().Done()
	return s.Context().Err()
}

func acquire(number uint64, key string, credit uint32) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, CreditMessages: credit, CreditBytes: 1 << 20, Request: &tenurev1.LineCall_AcquireLock{
		AcquireLock: &tenurev1.AcquireLockRequest{Key: key},
	}}
}

func watch(number, messages uint64, credit uint32, bytes uint64) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, CreditMessages: credit, CreditBytes: bytes, Request: &tenurev1.LineCall_Watch{
		Watch: &tenurev1.WatchRequest{AfterRevision: messages},
	}}
}

// all reads until nothing more comes. It returns the tokens of the parts of each call, in order, the answers, and how many parts there were.
func (c *client) all(t *testing.T) (tokens map[uint64][]string, answers map[uint64]*tenurev1.LineAnswer, parts int) {
	t.Helper()
	tokens, answers = map[uint64][]string{}, map[uint64]*tenurev1.LineAnswer{}
	for {
		synctest.Wait()
		select {
		case m := <-c.from:
			for _, p := range m.GetParts() {
				parts++
				for _, n := range p.GetNumbers() {
					if answers[n] != nil {
						t.Errorf("call %d has a part after its answer", n)
					}
					text := p.GetWatch().GetResumeToken()
					if step := p.GetAcquireLock(); step != nil {
						text = fmt.Sprintf("%T", step.GetStep())
					}
					tokens[n] = append(tokens[n], text)
				}
			}
			for _, a := range m.GetAnswers() {
				answers[a.GetNumber()] = a
			}
		default:
			return tokens, answers, parts
		}
	}
}

func TestAWaitNeedsNoCreditButForItsPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.to <- calls(acquire(1, "abcd", 0), acquire(2, "abcd", 3))
		c.to <- &tenurev1.LineRequest{Credits: []*tenurev1.LineCredit{{Number: 77, Messages: 1, Bytes: 1}}}
		close(c.let)
		tokens, answers, _ := c.all(t)
		for number, moves := range map[uint64]int{1: 0, 2: 3} {
			if got := len(tokens[number]) - 2; got != moves || answers[number] == nil || answers[number].GetStatus() != nil {
				t.Errorf("%d: got %v and %v, want it queued, moved %d times, granted, and ended", number, tokens[number], answers[number], moves)
			}
		}
	})
}

func TestAWatchSendsAsMuchAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.to <- calls(watch(1, 10, 3, 1<<20), watch(2, 10, 100, 1), watch(3, 10, 0, 0), watch(4, 10, math.MaxUint32, math.MaxUint64))
		tokens, answers, _ := c.all(t)
		for number, want := range map[uint64]int{1: 3, 2: 1, 3: 0, 4: 10} {
			if got := len(tokens[number]); got != want {
				t.Errorf("%d sent %d messages, want %d", number, got, want)
			}
		}
		c.to <- &tenurev1.LineRequest{Credits: []*tenurev1.LineCredit{{Number: 1, Messages: 2}, {Number: 2, Bytes: 1 << 10}, {Number: 3, Messages: 1}}}
		more, _, _ := c.all(t)
		for number, want := range map[uint64]int{1: 2, 2: 9, 3: 0} {
			if got := len(more[number]); got != want {
				t.Errorf("%d sent %d messages more, want %d", number, got, want)
			}
		}
		if len(answers) > 0 {
			t.Errorf("got %v, want no end", answers)
		}
		c.to <- &tenurev1.LineRequest{Cancels: []uint64{1, 2, 3, 4}}
		if _, answers, _ = c.all(t); len(answers) != 4 {
			t.Errorf("got %v, want four answers", answers)
		}
	})
}

// TestWhatManyWatchesAreSentIsSentOnce has watches of which one is behind.
func TestWhatManyWatchesAreSentIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const watchers, messages = 300, 20
		c := start(t)
		all := []*tenurev1.LineCall{watch(1, messages, 5, 1<<20)}
		for n := range uint64(watchers) {
			all = append(all, watch(n+2, messages, 100, 1<<20))
		}
		c.to <- calls(all...)
		synctest.Wait() // All but the first message, which is under way, are joined.
		c.to <- &tenurev1.LineRequest{Credits: []*tenurev1.LineCredit{{Number: 1, Messages: 100}}}
		tokens, _, parts := c.all(t)
		for n := range uint64(watchers + 1) {
			if got := tokens[n+1]; len(got) != messages || !slices.IsSortedFunc(got, func(a, b string) int { return len(a) - len(b) }) {
				t.Fatalf("%d: got %v, want all messages in order", n+1, got)
			}
		}
		if parts > 10*messages {
			t.Errorf("%d parts were sent for %d messages to %d watches", parts, messages, watchers+1)
		}
	})
}

func TestWaitsHaveABoundOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		var all []*tenurev1.LineCall
		for n := range uint64(4096) {
			all = append(all, watch(n+1, 0, 1, 1))
		}
		c.to <- calls(all...)
		c.to <- calls(watch(5000, 0, 1, 1), acquire(5001, "", 0), get(5002, "a"))
		_, answers, _ := c.all(t)
		for number, code := range map[uint64]codes.Code{5000: codes.ResourceExhausted, 5001: codes.ResourceExhausted, 5002: codes.OK} {
			if a := answers[number]; a == nil || codes.Code(a.GetStatus().GetCode()) != code {
				t.Errorf("%d: got %v, want %v", number, a, code)
			}
		}
		c.to <- &tenurev1.LineRequest{Cancels: []uint64{7}}
		if _, answers, _ = c.all(t); codes.Code(answers[7].GetStatus().GetCode()) != codes.Canceled {
			t.Errorf("got %v, want that 7 is canceled", answers)
		}
		c.to <- calls(watch(6000, 3, 10, 1<<10))
		if tokens, _, _ := c.all(t); len(tokens[6000]) != 3 {
			t.Errorf("got %v, want that there is room again", tokens)
		}
	})
}

// TestAWatchThatIsNotReadHoldsUpNone gives one watch no credit, and fills the line with others.
func TestAWatchThatIsNotReadHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		c.to <- calls(watch(1, 50, 0, 0), watch(2, 50, 100, 1<<20), get(3, "a"))
		tokens, answers, _ := c.all(t)
		if len(tokens[1]) != 0 || len(tokens[2]) != 50 || answers[3].GetGet() == nil {
			t.Errorf("got %v and %v, want all of 2 and 3, and nothing of 1", tokens, answers)
		}
	})
}

// TestALineThatEndsEndsItsWaits closes the client's side, and then breaks the line.
func TestALineThatEndsEndsItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		one := watch(2, 3, 10, 1<<10)
		one.GetWatch().Limit = 1
		c.to <- calls(watch(1, 0, 1, 1), one)
		close(c.to)
		if tokens, answers, _ := c.all(t); len(tokens[2]) != 3 || answers[2] == nil || answers[1] != nil {
			t.Errorf("got %v and %v, want the end of 2", tokens, answers)
		}
		select {
		case err := <-c.err:
			t.Errorf("the line ended with %v while a watch was under way", err)
		default:
		}
		c.gone()
		if err := <-c.err; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
			t.Errorf("the line ended with %v", err)
		}
	})
}
