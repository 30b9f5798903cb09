package reply

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
	// ContentTypeText is the type of texts.
	ContentTypeText = "text/plain; charset=utf-8"
	// writeTimeout is how long a client may leave a part of an answer unread.
	writeTimeout = 2 * time.Minute
	// indent is what ?pretty indents by.
	indent = "    "
)

// Answer is what a request gets.
type Answer struct {
	Status int // 0 is 200
	Header http.Header
	// One of these is the body; none is an empty body.
	JSON   any
	Text   string
	Raw    []byte
	Stream func(w io.Writer, pretty bool) error
	// Long says that more is read while Stream writes: there is more than a page.
	Long bool
}

// Whole returns the answer with its body made.
func (a *Answer) Whole(pretty bool) (*Answer, error) {
	var body []byte
	switch {
	case a.JSON != nil:
		body = encoded(a.JSON, pretty)
	case a.Stream != nil:
		var buffer bytes.Buffer
		if err := a.Stream(&buffer, pretty); err != nil {
			return nil, err
		}
		body = buffer.Bytes()
	default:
		return a, nil
	}
	out := &Answer{Status: a.Status, Header: a.Header, Raw: body}
	return out.WithHeader("Content-Type", contentTypeJSON), nil
}

// WithHeader adds a header.
func (a *Answer) WithHeader(name, value string) *Answer {
	if a.Header == nil {
		a.Header = http.Header{}
	}
	a.Header.Set(name, value)
	return a
}

// State is what the headers of a read say about it.
type State struct {
	Index       uint64
	Consistency string
	LastContact time.Duration
	KnownLeader bool
	Policy      string // what becomes of requests that no rule is about
	// Filtered says that the rights of its caller do not cover all that was asked for: what they do not cover is left out, if there is any.
	Filtered bool
}

// Of adds the headers of a read.
func (a *Answer) Of(s State) *Answer {
	if s.Filtered {
		a = a.WithHeader("X-Consul-Results-Filtered-By-ACLs", "true")
	}
	return a.
		WithHeader("X-Consul-Index", strconv.FormatUint(max(s.Index, 1), 10)).
		WithHeader("X-Consul-LastContact", strconv.FormatInt(s.LastContact.Milliseconds(), 10)).
		WithHeader("X-Consul-KnownLeader", strconv.FormatBool(s.KnownLeader)).
		WithHeader("X-Consul-Effective-Consistency", s.Consistency).
		WithHeader("X-Consul-Default-ACL-Policy", s.Policy)
}

// Outlast gives a request that waits the time of its wait, and then as long for its answer as others have. The server's own time for an answer would end
// it: with HTTP/2 it does so while nothing is written. Not every writer can tell.
func Outlast(w http.ResponseWriter, wait time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + writeTimeout))
}

// Write writes the answer and returns its status.
func (a *Answer) Write(w http.ResponseWriter, r *http.Request) int {
	header := w.Header()
	maps.Copy(header, a.Header)
	_, pretty := r.URL.Query()["pretty"]
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	body := a.Raw
	switch {
	case a.JSON != nil:
		header.Set("Content-Type", contentTypeJSON)
		body = encoded(a.JSON, pretty)
	case a.Stream != nil:
		header.Set("Content-Type", contentTypeJSON)
	case a.Raw == nil:
		header.Set("Content-Type", ContentTypeText)
		body = []byte(a.Text)
	}
	// What blocked has used up the server's own time for an answer. Not every writer can tell.
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	if a.Stream != nil {
		if err := a.Stream(deadlineWriter{w, control}, pretty); err != nil {
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
