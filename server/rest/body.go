package rest

import (
	"errors"
	"io"
	"net/http"

	"github.com/tenure-io/tenure/internal/share"
)

// restStreamsMax is how many streams there can be over REST, of all callers.
const restStreamsMax = 10_000

// bodyCopies is what a body counts for each of its bytes, from when it arrives until its call is answered: it is in memory as it came,
// taken apart, as the message that is sent to the service, and as the message that arrives there.
const bodyCopies = 4

// bodyStart is how much room a body gets before any of it has come.
const bodyStart = 4 << 10

// intakeError ends a body that is more than its caller's share.
type intakeError struct{}

// Error returns the text.
func (intakeError) Error() string {
	return "this client's requests that are not answered yet take as much memory as they may"
}

// HTTPStatus is the status of the answer.
func (intakeError) HTTPStatus() int { return http.StatusTooManyRequests }

// takingReader counts what is read of a body, until done.
type takingReader struct {
	io.Reader
	pool    *share.Pool
	caller  share.Caller
	took    int64
	refused bool
}

// Read reads, and fails when the caller has no share left.
func (t *takingReader) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	counts := int64(n) * bodyCopies
	if n > 0 && !t.pool.Take(t.caller, counts) {
		t.refused = true
		return 0, intakeError{}
	}
	t.took += counts
	return n, err
}

// readWhole reads a body of which length bytes are announced; below 0 nothing is. Room is made as the body comes, since an announcement
// costs its client nothing, and the last time exactly as much as is missing.
func readWhole(body io.Reader, length int64) ([]byte, error) {
	whole := make([]byte, 0, bodyStart)
	for {
		if len(whole) == cap(whole) {
			room := 2 * cap(whole)
			if want := length + 1; int64(len(whole)) < want && int64(room) > want { // One more, to see the end.
				room = int(want)
			}
			whole = append(make([]byte, 0, room), whole...)
		}
		n, err := body.Read(whole[len(whole):cap(whole)])
		whole = whole[:len(whole)+n]
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// done gives back what was taken.
func (t *takingReader) done() {
	t.pool.Give(t.caller, t.took)
	t.took = 0
}

// bodyReader gives a body that was read whole to grpc-gateway.
type bodyReader struct {
	left  []byte
	turns decodeTurns
}

// Read reads.
func (b *bodyReader) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// take returns all that is left, without copying it, and lets go of it.
func (b *bodyReader) take() []byte {
	left := b.left
	b.left = nil
	return left
}

// Close does nothing.
func (b *bodyReader) Close() error { return nil }

// decodeTurns are the turns in which large bodies are decoded, for the body of one request. To decode keeps a processor busy for up to 20 ms for each
// MiB, and calls that take microseconds wait for one. So a caller that sends many keeps half of the processors busy at most, and bodies of others need
// not wait for them.
type decodeTurns struct {
	all     *share.Turns
	request *http.Request
	caller  share.Caller
}

// take waits until a body may be decoded, if it is large. The turn lasts until end is called, once.
func (t decodeTurns) take(body []byte) (end func(), e *restError) {
	if len(body) <= bodyStart {
		return func() {}, nil
	}
	end, err := t.all.Take(t.request.Context(), t.caller)
	if err != nil {
		return nil, malformed("body", "its client did not wait for the answer")
	}
	return end, nil
}
