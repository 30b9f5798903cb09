package consulhttp

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

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
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

// request is a request whose path and common parameters were checked.
type request struct {
	*http.Request
	w     http.ResponseWriter
	rest  string // the rest of the path, unescaped
	query url.Values
	// caller is whose share it counts for.
	caller share.Caller
	// endTurn ends the turn in which the answer is written, because it is read meanwhile; nil if there is none.
	endTurn func()
}

// end ends the request, whose answer is written.
func (q *request) end() {
	if q.endTurn != nil {
		q.endTurn()
	}
}

// shows returns what is the same for requests that show the same of the same revision.
func (q *request) shows() string {
	query := maps.Clone(q.query)
	for _, name := range []string{"index", "wait", consulParameter} {
		delete(query, name)
	}
	path, _ := pathOf(q.Request) // It was checked.
	return path + "?" + query.Encode()
}

// newRequest checks what is common to all requests.
func (h *handler) newRequest(w http.ResponseWriter, r *http.Request, rest string) (*request, error) {
	q := &request{Request: r, w: w, caller: h.options.Callers.OfText(r.RemoteAddr)}
	var err error
	// Leading slashes are dropped as they were sent: %2F is a part of a key.
	if q.rest, err = url.PathUnescape(strings.TrimLeft(rest, "/")); err != nil {
		return nil, refusal(http.StatusBadRequest, "A percent sign in a path must be followed by two hexadecimal digits.")
	}
	if q.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, refusal(http.StatusBadRequest, "The query of this request cannot be decoded.")
	}
	if dc := q.text("dc"); dc != "" && !strings.EqualFold(dc, h.options.Datacenter) {
		return nil, known(refusal(http.StatusInternalServerError, "No path to datacenter"))
	}
	for _, name := range []string{"ns", "partition", "peer"} {
		if value := q.text(name); value != "" && !strings.EqualFold(value, "default") {
			return nil, refusal(http.StatusBadRequest, "Parameter %s must be empty or default: Tenure has no %s.", name, map[string]string{
				"ns": "namespaces", "partition": "admin partitions", "peer": "peered clusters",
			}[name])
		}
	}
	if q.text("filter") != "" {
		return nil, refusal(http.StatusBadRequest, "Parameter filter is not supported; filter the answer in the client.")
	}
	return q, nil
}

// has reports whether a parameter is given, with or without a value.
func (q *request) has(name string) bool { return q.query.Has(name) }

// text returns the value of a parameter; empty if it is not given.
func (q *request) text(name string) string { return q.query.Get(name) }

// number returns the value of a parameter, which is 0 if it is not given or empty.
func (q *request) number(name string) (uint64, error) {
	text := q.text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, refusal(http.StatusBadRequest, "Parameter %s must be a number from 0 to 2^64-1.", name)
	}
	return n, nil
}

// duration returns the value of a parameter, which is 0 if it is not given or empty.
func (q *request) duration(name string) (time.Duration, error) {
	text := q.text(name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, refusal(http.StatusBadRequest, "Parameter %s must be a duration such as 30s.", name)
	}
	return d, nil
}

// body returns the body, of at most the allowed size.
func (q *request) body() ([]byte, error) {
	if q.Body == nil || q.Body == http.NoBody {
		return nil, nil
	}
	tooLarge := refusal(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes.", bodyBytesMax)
	if q.ContentLength > bodyBytesMax+drainBytesMax {
		tooLarge.closes = true
		return nil, tooLarge
	}
	// Deadlines are not to be had on every connection that tests make; then the client may take its time.
	control := http.NewResponseController(q.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyReadTimeout))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(io.LimitReader(q.Body, bodyBytesMax+1))
	switch {
	case err == nil && len(body) <= bodyBytesMax:
		return body, nil
	case err == nil:
		_, err = io.CopyN(io.Discard, q.Body, drainBytesMax)
		tooLarge.closes = !errors.Is(err, io.EOF)
		return nil, tooLarge
	}
	broken := refusal(http.StatusBadRequest, "The body ended too early.")
	broken.closes = true
	if full, ok := errors.AsType[interface {
		error
		HTTPStatus() int
	}](err); ok {
		broken.status, broken.text = full.HTTPStatus(), full.Error()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		broken.status, broken.text = http.StatusRequestTimeout, "The body did not arrive in time."
	}
	return nil, broken
}

// Values of the header X-Consul-Effective-Consistency.
const (
	consistencyLeader     = "leader"
	consistencyConsistent = "consistent"
	consistencyStale      = "stale"
)

// consistency returns how fresh a read must be.
func (q *request) consistency() (string, error) {
	age, err := q.duration("max_stale")
	if err != nil {
		return "", err
	}
	// As in Consul, an age of 0, or less, sets no bound.
	stale, consistent, bounded := q.has("stale"), q.has("consistent"), age > 0
	switch {
	case stale && consistent:
		return "", refusal(http.StatusBadRequest, "Parameters stale and consistent must not be given together.")
	case bounded && consistent:
		return "", refusal(http.StatusBadRequest, "Parameters max_stale and consistent must not be given together.")
	case bounded: // A linearizable read is never older.
		return consistencyLeader, nil
	case stale:
		return consistencyStale, nil
	case consistent:
		return consistencyConsistent, nil
	default:
		return consistencyLeader, nil
	}
}

// readOptions returns the same for a call.
func readOptions(consistency string) *tenurev1.ReadOptions {
	return &tenurev1.ReadOptions{Stale: consistency == consistencyStale}
}
