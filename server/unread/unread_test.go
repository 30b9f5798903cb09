package unread_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/unread"
)

// account is a connection with room for so many bytes.
type account struct{ room int64 }

func (a *account) Owe(bytes int64) bool {
	if bytes > a.room {
		return false
	}
	a.room -= bytes
	return true
}

func (a *account) Pay(bytes int64) { a.room += bytes }

// TestAnswersCountUntilTheirLastReferenceIsFreed encodes answers of several sizes.
func TestAnswersCountUntilTheirLastReferenceIsFreed(t *testing.T) {
	for _, size := range []int{0, 1, 1000, 1024, 1025, 2000, 2048, 2049, 100_000} {
		message := wrapperspb.Bytes(bytes.Repeat([]byte{7}, size))
		const all = 1 << 20
		conn := &account{room: all}
		for range 3 { // Small buffers are used again.
			answer, ok := unread.New(conn, message)
			if !ok || conn.room > all-int64(size) {
				t.Fatalf("%d bytes: room for %d is left, %v", size, conn.room, ok)
			}
			data, err := answer.Encode()
			if err != nil {
				t.Fatal(err)
			}
			want, err := proto.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			if got := data.Materialize(); !slices.Equal(got, want) {
				t.Errorf("%d bytes: got %d bytes, want those of the message", size, len(got))
			}
			data.Ref()
			data.Free()
			if conn.room > all-int64(size) || conn.room == all {
				t.Errorf("%d bytes: they count no more, and are still there", size)
			}
			data.Free()
			if conn.room != all {
				t.Errorf("%d bytes: room for %d is left, want %d", size, conn.room, all)
			}
		}
	}
}

func TestAnAnswerBeyondTheShareIsNone(t *testing.T) {
	conn := &account{room: 100_000}
	if _, ok := unread.New(conn, wrapperspb.Bytes(make([]byte, 100_000))); ok || conn.room != 100_000 {
		t.Errorf("got %v and room for %d, want that nothing is taken", ok, conn.room)
	}
}

// TestAnswersOverHTTPCountWhileTheyAreWritten writes answers that have room, and some that have none.
func TestAnswersOverHTTPCountWhileTheyAreWritten(t *testing.T) {
	caller := share.Callers{}.OfText("10.0.0.1:1")
	refuse := func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }
	cases := map[string]struct {
		refuse func(http.ResponseWriter)
		write  []int
		status int
		cut    bool
	}{
		"it has room":                        {refuse, []int{100_000}, http.StatusOK, false},
		"none, and nothing was written":      {refuse, []int{1_000_000}, http.StatusTooManyRequests, false},
		"none, and something was written":    {refuse, []int{100_000, 1_000_000}, http.StatusOK, true},
		"none, and it must not be another":   {nil, []int{1_000_000}, http.StatusOK, true},
		"many small parts, each has room":    {nil, slices.Repeat([]int{1000}, 5000), http.StatusOK, false},
		"many parts, what was sent is over":  {nil, slices.Repeat([]int{100_000}, 50), http.StatusOK, false},
		"none, and it goes on after refusal": {refuse, []int{1_000_000, 10}, http.StatusTooManyRequests, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool, recorder := share.NewPool(1<<20), httptest.NewRecorder()
			w := unread.NewWriter(recorder, pool, caller, c.refuse)
			cut := func() (cut bool) {
				defer func() { cut = recover() != nil }()
				for _, n := range c.write {
					_, _ = w.Write(make([]byte, n)) // It is refused at times.
				}
				return false
			}()
			if cut != c.cut || !cut && recorder.Code != c.status {
				t.Errorf("got status %d, cut %v; want %d, %v", recorder.Code, cut, c.status, c.cut)
			}
			if pool.Used() != 0 {
				t.Errorf("%d bytes are taken, want none", pool.Used())
			}
		})
	}
}

// TestFewAnswersAreBuiltAtATime begins as many as there may be, and one more.
func TestFewAnswersAreBuiltAtATime(t *testing.T) {
	builds := unread.NewBuilds()
	var end []func()
	for range cap(builds) {
		ctx, e := builds.Context(t.Context())
		for range 2 { // A second time it is the same answer.
			if err := unread.Begin(ctx); err != nil {
				t.Fatal(err)
			}
		}
		end = append(end, e)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, never := builds.Context(late)
	if err := unread.Begin(ctx); err == nil {
		t.Error("one more was begun")
	}
	never()
	end[0]()
	if ctx, _ = builds.Context(t.Context()); unread.Begin(ctx) != nil {
		t.Error("the next was not begun")
	}
	if err := unread.Begin(late); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

// shared is a message that was encoded before.
type shared []byte

func (s shared) Encoded() []byte { return s }

// TestMessagesOfAStreamCountUntilTheirLastReferenceIsFreed sends messages of several sizes, and ends the stream before they are taken.
func TestMessagesOfAStreamCountUntilTheirLastReferenceIsFreed(t *testing.T) {
	for _, size := range []int{0, 1, 1000, 1024, 1025, 2048, 2049, 40_000, 300_000} {
		message := wrapperspb.Bytes(bytes.Repeat([]byte{7}, size))
		want, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		for name, m := range map[string]any{"a message": message, "one that is encoded": shared(want)} {
			const all = 1 << 20
			conn := &account{room: all}
			stream := unread.NewStream(conn)
			sent, ok := stream.Message(m).(*unread.Message)
			if !ok {
				t.Fatalf("%s is no message of the stream", name)
			}
			data, err := sent.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if got := data.Materialize(); !slices.Equal(got, want) {
				t.Errorf("%s: got %d bytes, want the %d of the message", name, len(got), len(want))
			}
			if room := cap(data[0].ReadOnlyData()); room > max(len(want)+len(want)/4, 2<<10) {
				t.Errorf("%s of %d bytes takes %d", name, len(want), room)
			}
			if conn.room != all {
				t.Errorf("%s counts for the caller before the call has ended", name)
			}
			if !stream.End() || conn.room > all-int64(len(want)) {
				t.Errorf("%s of %d bytes: room for %d is left when the call has ended", name, len(want), conn.room)
			}
			data.Free()
			if conn.room != all {
				t.Errorf("%s: room for %d is left, want %d", name, conn.room, all)
			}
		}
	}
}

func TestAStreamIsAwaitedUntilLittleIsUnsent(t *testing.T) {
	stream, late := unread.NewStream(&account{}), canceled(t)
	if err := stream.Await(late); err != nil {
		t.Errorf("nothing is unsent: %v", err)
	}
	sent, ok := stream.Message(wrapperspb.Bytes(make([]byte, 100_000))).(*unread.Message)
	if !ok {
		t.Fatal("it is no message of the stream")
	}
	data, err := sent.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err = stream.Await(late); !errors.Is(err, context.Canceled) {
		t.Errorf("100 000 bytes are unsent: got %v, want that it waits", err)
	}
	if stream.End() {
		t.Error("it ended within the caller's share, who has none")
	}
	waited := make(chan error)
	go func() { waited <- stream.Await(t.Context()) }()
	data.Free()
	if err = <-waited; err != nil {
		t.Errorf("all is sent: %v", err)
	}
	if !stream.End() {
		t.Error("all is sent, and it is more than the caller's share")
	}
}

// canceled returns a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestTurnsInsideTheProcessEnd ends every turn once: before and after its caller has ended, of a call that is made twice, and of one that nobody
// named.
func TestTurnsInsideTheProcessEnd(t *testing.T) {
	var inside unread.Inside
	ends := 0
	turn := func() { ends++ }
	expect := func(when string, want int) {
		t.Helper()
		if ends != want {
			t.Errorf("%s: %d turns have ended, want %d", when, ends, want)
		}
	}
	name, end := inside.Begin()
	inside.Keep(name, turn)
	expect("the answer is on its way", 0)
	inside.Keep(name, turn)
	expect("a second answer to the same call", 1)
	end()
	expect("the answer has arrived", 2)
	end()
	inside.Keep(name, turn)
	expect("the caller is gone", 3)
	inside.Keep("", turn)
	expect("a call without a name", 4)
	_, end = inside.Begin()
	end()
	expect("a call that was refused", 4)
}
