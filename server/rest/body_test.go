package rest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

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

// TestLargeBodiesTakeTurns sends puts while the only turn is another's: a large body waits, and a small one does not.
func TestLargeBodiesTakeTurns(t *testing.T) {
	turns := share.NewTurns(1)
	rig := newRESTRig(t, func(o *Options) { o.Turns = turns })
	done, err := turns.Take(t.Context(), share.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	large, answered := fmt.Sprintf(`{"text":%q}`, strings.Repeat("v", bodyStart)), make(chan answer, 1)
	go func() { answered <- rig.send(t, http.MethodPost, "/v1/kv/large", nil, large) }()
	for !turns.Awaited() {
		runtime.Gosched()
	}
	if got := rig.send(t, http.MethodPost, "/v1/kv/small", nil, `{"text":"v"}`); got.status != http.StatusOK {
		t.Errorf("a small put got %d %v", got.status, got.error)
	}
	select {
	case got := <-answered:
		t.Errorf("the large put was answered with %d before its turn", got.status)
	default:
	}
	done()
	if got := <-answered; got.status != http.StatusOK {
		t.Errorf("the large put got %d %v", got.status, got.error)
	}
	if done, err = turns.Take(t.Context(), share.Caller{}); err != nil { // Its turn has ended.
		t.Fatal(err)
	}
	done()
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
