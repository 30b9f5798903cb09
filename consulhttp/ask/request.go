package ask

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// bodyBytesMax limits bodies, and with them values.
	bodyBytesMax = 512 << 10
	// drainBytesMax is how much more of a body that is too large is read, so that the client can read the answer. Beyond it, the
	// connection is closed, and the client may see no more than that.
	drainBytesMax = 4 << 20
	// bodyReadTimeout is how long a client may take to send a body.
	bodyReadTimeout = 30 * time.Second
)

// Request is a request whose path and common parameters were checked.
type Request struct {
	*http.Request
	w     http.ResponseWriter
	Rest  string // the rest of the path, unescaped
	Query url.Values
}

// New checks what is common to all requests. The rest of the path is as it was sent.
func New(w http.ResponseWriter, r *http.Request, rest, datacenter string) (*Request, error) {
	q := &Request{Request: r, w: w}
	var err error
	// Leading slashes are dropped as they were sent: %2F is a part of a key.
	if q.Rest, err = url.PathUnescape(strings.TrimLeft(rest, "/")); err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "A percent sign in a path must be followed by two hexadecimal digits.")
	}
	if q.Query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "The query of this request cannot be decoded.")
	}
	if dc := q.Text("dc"); dc != "" && !strings.EqualFold(dc, datacenter) {
		return nil, reply.Known(reply.Refusal(http.StatusInternalServerError, "No path to datacenter"))
	}
	for _, name := range []string{"ns", "partition", "peer"} {
		if value := q.Text(name); value != "" && !strings.EqualFold(value, "default") {
			return nil, reply.Refusal(http.StatusBadRequest, "Parameter %s must be empty or default: Tenure has no %s.", name, map[string]string{
				"ns": "namespaces", "partition": "admin partitions", "peer": "peered clusters",
			}[name])
		}
	}
	for _, name := range []string{"Namespace", "Partition"} {
		if value := q.Header.Get("X-Consul-" + name); value != "" && !strings.EqualFold(value, "default") {
			return nil, reply.Refusal(http.StatusBadRequest, "Header X-Consul-%s must be empty or default: Tenure has no %s.", name, map[string]string{
				"Namespace": "namespaces", "Partition": "admin partitions",
			}[name])
		}
	}
	if q.Text("filter") != "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Parameter filter is not supported; filter the answer in the client.")
	}
	return q, nil
}

// Has reports whether a parameter is given, with or without a value.
func (q *Request) Has(name string) bool { return q.Query.Has(name) }

// Text returns the value of a parameter; empty if it is not given.
func (q *Request) Text(name string) string { return q.Query.Get(name) }

// Number returns the value of a parameter, which is 0 if it is not given or empty.
func (q *Request) Number(name string) (uint64, error) {
	text := q.Text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, reply.Refusal(http.StatusBadRequest, "Parameter %s must be a number from 0 to 2^64-1.", name)
	}
	return n, nil
}

// Duration returns the value of a parameter, which is 0 if it is not given or empty.
func (q *Request) Duration(name string) (time.Duration, error) {
	text := q.Text(name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, reply.Refusal(http.StatusBadRequest, "Parameter %s must be a duration such as 30s.", name)
	}
	return d, nil
}

// Outlast makes sure that what serves HTTP lets the request wait for so long.
func (q *Request) Outlast(wait time.Duration) { reply.Outlast(q.w, wait) }

// Content returns the body, of at most the allowed size.
func (q *Request) Content() ([]byte, error) {
	if q.Body == nil || q.Body == http.NoBody {
		return nil, nil
	}
	tooLarge := reply.Refusal(http.StatusRequestEntityTooLarge, "Request body too large, max size: %d bytes.", bodyBytesMax)
	if q.ContentLength > bodyBytesMax+drainBytesMax {
		tooLarge.Closes = true
		return nil, tooLarge
	}
	// Deadlines are not to be had on every connection that tests make; then the client may take its time.
	control := http.NewResponseController(q.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyReadTimeout))
	body, err := io.ReadAll(io.LimitReader(q.Body, bodyBytesMax+1))
	// Where some of the body is left, the deadline stays: what serves HTTP still reads that.
	switch {
	case err == nil && len(body) <= bodyBytesMax:
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	case err == nil:
		_, err = io.CopyN(io.Discard, q.Body, drainBytesMax)
		tooLarge.Closes = !errors.Is(err, io.EOF)
		return nil, tooLarge
	}
	broken := reply.Refusal(http.StatusBadRequest, "The body ended too early.")
	broken.Closes = true
	if full, ok := errors.AsType[interface {
		error
		HTTPStatus() int
	}](err); ok {
		broken.Status, broken.Text = full.HTTPStatus(), full.Error()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		broken.Status, broken.Text = http.StatusRequestTimeout, "The body did not arrive in time."
	}
	return nil, broken
}

// Values of the header X-Consul-Effective-Consistency.
const (
	Leader     = "leader"
	Consistent = "consistent"
	Stale      = "stale"
)

// Consistency returns how fresh a read must be.
func (q *Request) Consistency() (string, error) {
	age, err := q.Duration("max_stale")
	if err != nil {
		return "", err
	}
	// As in Consul, an age of 0, or less, sets no bound.
	stale, consistent, bounded := q.Has("stale"), q.Has("consistent"), age > 0
	switch {
	case stale && consistent:
		return "", reply.Refusal(http.StatusBadRequest, "Parameters stale and consistent must not be given together.")
	case bounded && consistent:
		return "", reply.Refusal(http.StatusBadRequest, "Parameters max_stale and consistent must not be given together.")
	case bounded: // A linearizable read is never older.
		return Leader, nil
	case stale:
		return Stale, nil
	case consistent:
		return Consistent, nil
	default:
		return Leader, nil
	}
}

// ReadOptions returns the same for a call.
func ReadOptions(consistency string) *tenurev1.ReadOptions {
	return &tenurev1.ReadOptions{Stale: consistency == Stale}
}

// Shows returns what is the same for requests that show the same of the same revision.
func (q *Request) Shows() string {
	query := maps.Clone(q.Query)
	for _, name := range []string{"index", "wait", consulParameter} {
		delete(query, name)
	}
	path, _ := Path(q.Request) // It was checked.
	return path + "?" + query.Encode()
}

// Path returns a request's path as it was sent.
func Path(r *http.Request) (string, error) {
	if !strings.HasPrefix(r.RequestURI, "/") {
		// It names a whole URL, as to a proxy.
		return r.URL.EscapedPath(), nil
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, err := url.PathUnescape(path); err != nil {
		return "", reply.Refusal(http.StatusBadRequest, "A percent sign in a path must be followed by two hexadecimal digits.")
	}
	return path, nil
}
