package rest

import (
	"io"
	"net/http"

	"github.com/tenure-io/tenure/server/share"
)

// restStreamsMax is how many streams there can be over REST, of all callers.
const restStreamsMax = 10_000

// intakeError ends a body that is more than its caller's share.
type intakeError struct{}

// Error returns the text.
func (intakeError) Error() string {
	return "this member keeps as much of unfinished requests as it may"
}

// HTTPStatus is the status of the answer.
func (intakeError) HTTPStatus() int { return http.StatusTooManyRequests }

// takingReader counts what is read of a body.
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
	if n > 0 && !t.pool.Take(t.caller, int64(n)) {
		t.refused = true
		return 0, intakeError{}
	}
	t.took += int64(n)
	return n, err
}

// done gives back what was taken.
func (t *takingReader) done() { t.pool.Give(t.caller, t.took) }
