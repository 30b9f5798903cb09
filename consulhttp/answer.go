package consulhttp

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

const (
	contentTypeJSON = "application/json"
	contentTypeText = "text/plain; charset=utf-8"
	// writeTimeout is how long a client may leave a part of an answer unread.
	writeTimeout = 2 * time.Minute
	// indent is what ?pretty indents by.
	indent = "    "
)

// answer is what a request gets.
type answer struct {
	status int // 0 is 200
	header http.Header
	// One of these is the body; none is an empty body.
	json   any
	text   string
	raw    []byte
	stream func(w io.Writer, pretty bool) error
	// long says that more is read while stream writes: there is more than a page.
	long bool
}

// whole returns the answer with its body made.
func (a *answer) whole(pretty bool) (*answer, error) {
	body := a.raw
	switch {
	case a.json != nil:
		body = encoded(a.json, pretty)
	case a.stream != nil:
		var buffer bytes.Buffer
		if err := a.stream(&buffer, pretty); err != nil {
			return nil, err
		}
		body = buffer.Bytes()
	default:
		return a, nil
	}
	out := &answer{status: a.status, header: a.header, raw: body}
	return out.withHeader("Content-Type", contentTypeJSON), nil
}

// withHeader adds a header.
func (a *answer) withHeader(name, value string) *answer {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set(name, value)
	return a
}

// state is what the headers of a read say about it.
type state struct {
	index       uint64
	consistency string
	lastContact time.Duration
	knownLeader bool
	policy      string // what becomes of requests that no rule is about
}

// of adds the headers of a read.
func (a *answer) of(s state) *answer {
	return a.
		withHeader("X-Consul-Index", strconv.FormatUint(max(s.index, 1), 10)).
		withHeader("X-Consul-LastContact", strconv.FormatInt(s.lastContact.Milliseconds(), 10)).
		withHeader("X-Consul-KnownLeader", strconv.FormatBool(s.knownLeader)).
		withHeader("X-Consul-Effective-Consistency", s.consistency).
		withHeader("X-Consul-Default-ACL-Policy", s.policy)
}

// write writes the answer and returns its status.
func (a *answer) write(w http.ResponseWriter, r *http.Request) int {
	header := w.Header()
	maps.Copy(header, a.header)
	_, pretty := r.URL.Query()["pretty"]
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	body := a.raw
	switch {
	case a.json != nil:
		header.Set("Content-Type", contentTypeJSON)
		body = encoded(a.json, pretty)
	case a.stream != nil:
		header.Set("Content-Type", contentTypeJSON)
	case a.raw == nil:
		header.Set("Content-Type", contentTypeText)
		body = []byte(a.text)
	}
	// What blocked has used up the server's own time for an answer. Not every writer can tell.
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	if a.stream != nil {
		if err := a.stream(deadlineWriter{w, control}, pretty); err != nil {
			panic(http.ErrAbortHandler) // The one way to tell a client that the answer is not whole.
		}
		return status
	}
	_, _ = w.Write(body) // A client that has gone away needs no answer.
	return status
}

// deadlineWriter gives each part of an answer its own time.
type deadlineWriter struct {
	w       io.Writer
	control *http.ResponseController
}

// Write writes a part.
func (d deadlineWriter) Write(data []byte) (int, error) {
	_ = d.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return d.w.Write(data)
}

// encoded returns a value as JSON. All values are of types of this package, which can be encoded.
func encoded(v any, pretty bool) []byte {
	if pretty {
		body, _ := json.MarshalIndent(v, "", indent)
		return append(body, '\n')
	}
	body, _ := json.Marshal(v)
	return body
}
