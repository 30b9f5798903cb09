package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
)

// TestABodyCountsUntilItsCallIsAnswered makes a put while another is under way whose body leaves its caller no room for one more.
func TestABodyCountsUntilItsCallIsAnswered(t *testing.T) {
	const size = 10_000
	intake := share.NewPool(2 * size * bodyCopies) // One caller has half of it.
	rig := newRESTRig(t, func(o *Options) { o.Intake = intake })
	for name, put := range map[string]struct {
		target, body string
	}{
		"in JSON": {"POST /v1/kv/large", fmt.Sprintf(`{"text":%q}`, strings.Repeat("v", size-11))},
		"raw":     {"PUT /v1/kv/large", strings.Repeat("v", size)},
	} {
		t.Run(name, func(t *testing.T) {
			method, target, _ := strings.Cut(put.target, " ")
			under, end := make(chan struct{}), make(chan struct{})
			rig.fail = func() error {
				close(under)
				<-end
				return unavailable()
			}
			answered := make(chan answer)
			go func() { answered <- rig.send(t, method, target, nil, put.body) }()
			<-under
			if got, want := intake.Used(), int64(bodyCopies*len(put.body)); got != want {
				t.Errorf("%d bytes are counted while the call is under way, want %d", got, want)
			}
			got := rig.send(t, method, target, nil, put.body)
			if got.status != http.StatusTooManyRequests || got.error.Metadata["limit"] != "intake_bytes_max" {
				t.Errorf("a second put got %d %v, want that there is no room", got.status, got.error)
			}
			close(end)
			<-answered
			rig.fail = nil
			if got := rig.send(t, method, target, nil, put.body); got.status != http.StatusOK {
				t.Errorf("a put after that got %d %v", got.status, got.error)
			}
			if used := intake.Used(); used != 0 {
				t.Errorf("%d bytes are counted when nothing is under way", used)
			}
		})
	}
}

// puts is a connection to a member on which every put succeeds.
type puts struct{ grpc.ClientConnInterface }

func (puts) Invoke(_ context.Context, _ string, _, response any, _ ...grpc.CallOption) error {
	if put, is := response.(*tenurev1.PutResponse); is {
		put.Kv = &tenurev1.KeyValue{}
	}
	return nil
}

// TestLargeBodiesTakeTurns sends puts while a caller has its turn: another large body of it waits, and neither a small one of it nor a large one of
// another caller does.
func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := share.NewTurns(2)
		handler, err := New(Options{Conn: puts{}, Turns: turns, RequestBytesMax: 1 << 20, Log: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		put := func(from string, size int) *httptest.ResponseRecorder {
			body := fmt.Sprintf(`{"text":%q}`, strings.Repeat("v", size))
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/v1/kv/a", strings.NewReader(body))
			request.RemoteAddr = from
			answer := httptest.NewRecorder()
			answer.Code = 0 // Until it is answered.
			go handler.ServeHTTP(answer, request)
			synctest.Wait()
			return answer
		}
		end, err := turns.Take(t.Context(), share.Callers{}.OfText("10.0.0.1:1"))
		if err != nil {
			t.Fatal(err)
		}
		large := put("10.0.0.1:2", bodyStart)
		if small := put("10.0.0.1:3", 1); small.Code != http.StatusOK {
			t.Errorf("a small put got %d %s", small.Code, small.Body)
		}
		if other := put("10.0.0.2:1", bodyStart); other.Code != http.StatusOK {
			t.Errorf("a large put of another caller got %d %s", other.Code, other.Body)
		}
		if large.Code != 0 {
			t.Errorf("the large put was answered with %d before its turn", large.Code)
		}
		end()
		synctest.Wait()
		if large.Code != http.StatusOK || turns.Used() != 0 {
			t.Errorf("the large put got %d %s; %d turns are taken in the end", large.Code, large.Body, turns.Used())
		}
	})
}

// TestABodyOfAStreamCountsUntilItIsSent opens a stream, which may last for hours.
func TestABodyOfAStreamCountsUntilItIsSent(t *testing.T) {
	intake := share.NewPool(1 << 20)
	rig := newRESTRig(t, func(o *Options) { o.Intake = intake })
	end := make(chan struct{})
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		if err := stream.Send(started()); err != nil {
			return err
		}
		<-end
		return nil
	}
	resp := rig.open(t, "POST", "/v1/watch", nil, `{"keys":["a"]}`)
	defer func() { _ = resp.Body.Close() }()
	if used := intake.Used(); resp.StatusCode != http.StatusOK || used != 0 {
		t.Errorf("got %d, and %d bytes are counted of a request that was sent", resp.StatusCode, used)
	}
	close(end)
}

func TestBodiesAreReadWhole(t *testing.T) {
	for _, size := range []int{0, 1, bodyStart - 1, bodyStart, bodyStart + 1, 3*bodyStart + 7, 100_000} {
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for name, read := range map[string]func(io.Reader) io.Reader{
			"at once":     func(r io.Reader) io.Reader { return r },
			"by halves":   iotest.HalfReader,
			"end at once": iotest.DataErrReader,
		} {
			for _, length := range []int64{-1, int64(size)} {
				got, err := readWhole(read(bytes.NewReader(want)), length)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, %s, announced as %d: got %d bytes and %v", size, name, length, len(got), err)
				}
				if length > 0 && cap(got) > max(bodyStart, size+1) {
					t.Errorf("%d bytes, %s, take %d", size, name, cap(got))
				}
			}
		}
	}
	if _, err := readWhole(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))), 2); err == nil {
		t.Error("a body that breaks off is taken")
	}
}
