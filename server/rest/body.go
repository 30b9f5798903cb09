package rest

import (
	"io"

	"github.com/tenure-io/tenure/server/share"
)

// restStreamsMax is how many streams there can be over REST, of all callers.
const restStreamsMax = 10_000

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
		return 0, io.ErrUnexpectedEOF
	}
	t.took += int64(n)
	return n, err
}

// done gives back what was taken.
func (t *takingReader) done() { t.pool.Give(t.caller, t.took) }
