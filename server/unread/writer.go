package unread

import (
	"errors"
	"net/http"

	"github.com/tenure-io/tenure/internal/share"
)

// freeBytes is what may be written without being counted: the system takes as much.
const freeBytes = 16 << 10

// errShare ends an answer that is more than its caller's share.
var errShare = errors.New("the caller does not read its answers")

// Writer writes an answer over HTTP that counts while it is written. One goroutine uses it.
type Writer struct {
	http.ResponseWriter
	pool   *share.Pool
	caller share.Caller
	refuse func(http.ResponseWriter) // nil when the answer has begun, or must not be another one
	over   bool
}

// NewWriter returns a writer that takes from a pool for a caller. Beyond the caller's share, refuse writes what the client gets
// in place of the answer, if that has not begun; without refuse the connection is closed.
func NewWriter(w http.ResponseWriter, pool *share.Pool, caller share.Caller, refuse func(http.ResponseWriter)) *Writer {
	return &Writer{ResponseWriter: w, pool: pool, caller: caller, refuse: refuse}
}

// WriteHeader begins the answer.
func (w *Writer) WriteHeader(code int) {
	w.refuse = nil
	w.ResponseWriter.WriteHeader(code)
}

// Write writes a part of the answer.
func (w *Writer) Write(data []byte) (int, error) {
	if w.over {
		return 0, errShare
	}
	if n := int64(copies * len(data)); n > freeBytes {
		if !w.pool.Take(w.caller, n) {
			return 0, w.stop()
		}
		defer w.pool.Give(w.caller, n)
	}
	w.refuse = nil
	return w.ResponseWriter.Write(data)
}

// stop refuses the answer, or closes the connection.
func (w *Writer) stop() error {
	if w.refuse == nil {
		panic(http.ErrAbortHandler)
	}
	w.over = true
	w.refuse(w.ResponseWriter)
	return errShare
}

// Unwrap lets http.ResponseController find the connection.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
