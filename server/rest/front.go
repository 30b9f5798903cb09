package rest

import (
	"errors"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// frontDoor stands before everything that is served over HTTP. It keeps pages of foreign origins out, and a panic from
// ending more than its request.
type frontDoor struct {
	next           http.HandlerFunc
	allowedOrigins []string
	allowedHosts   []string
	certified      func(host string) bool
	plain          bool
	log            *zap.Logger
}

// NewFrontDoor returns the front door before next.
func NewFrontDoor(o Options, next http.HandlerFunc) http.Handler {
	return &frontDoor{
		next:           next,
		allowedOrigins: o.AllowedOrigins,
		allowedHosts:   o.AllowedHosts,
		certified:      o.Certified,
		plain:          o.PlainErrors,
		log:            o.Log,
	}
}

// ServeHTTP serves one request, or refuses it.
func (f *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tracked := &beginTracker{ResponseWriter: w}
	defer f.recovered(tracked)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if validOf(r).Err() != nil {
		w.Header().Set("Connection", "close") // net/http makes a GOAWAY of it for HTTP/2.
	}
	if over(r) {
		f.refuse(tracked, reason.ErrConnectionEnds)
		return
	}
	if !f.knowsHost(r.Host) {
		f.refuse(tracked, reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
			"host %.128q is not a name of this member; see --http-allowed-host", r.Host))
		return
	}
	if !f.admits(w, r) {
		f.refuse(tracked, reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
			"origin %.128q is not allowed; see --http-allowed-origin", r.Header.Get("Origin")))
		return
	}
	if r.Header.Get("Origin") == "" && slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), func(site string) bool {
		return strings.EqualFold(strings.TrimSpace(site), "cross-site")
	}) {
		f.refuse(tracked, reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
			"a page of another site sent this request; see --http-allowed-origin"))
		return
	}
	if r.Header.Get("Origin") != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		preflight(w)
		return
	}
	f.next(tracked, r)
}

// knowsHost reports whether a value of the header Host means this member: an address, localhost, one of its names, or one of those in
// its certificate. Others come from pages that made their own name point here.
func (f *frontDoor) knowsHost(value string) bool {
	host, _, err := net.SplitHostPort(value)
	if err != nil {
		host = value
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if net.ParseIP(host) != nil {
		return true // A browser sends it only for a page that was asked for by that address.
	}
	return strings.EqualFold(host, "localhost") || f.certified != nil && f.certified(host) ||
		slices.ContainsFunc(f.allowedHosts, func(known string) bool { return strings.EqualFold(known, host) })
}

// admits tells whether a request comes from no page of a browser, or from one of an allowed origin, which may then read
// the answer.
func (f *frontDoor) admits(w http.ResponseWriter, r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(f.allowedOrigins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	switch {
	case len(origins) == 0:
		return true
	case len(origins) > 1 || !slices.Contains(f.allowedOrigins, origins[0]):
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origins[0])
	w.Header().Set("Access-Control-Expose-Headers", "Tenure-Revision, Tenure-Request-Id, Tenure-Flags, Tenure-Create-Revision, "+
		"Tenure-Mod-Revision, Tenure-Version, Tenure-Lock-Index, Tenure-Session-Id, Tenure-Bound-Session-Id, Retry-After")
	return true
}

// preflight answers a browser that asks what a page of an allowed origin may do.
func preflight(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, "+headerSecret+", "+headerIdempotencyKey)
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// recovered turns a panic into an error, if the answer has not begun; else the connection is cut, so that nobody takes
// half an answer for a whole one.
func (f *frontDoor) recovered(w *beginTracker) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	f.log.Error("request panicked", zap.Any("panic", cause), zap.ByteString("stack", debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	f.refuse(w, reason.New(tenurev1.ErrorReason_ERROR_REASON_INTERNAL, "internal error"))
}

// refuse answers a request with an error.
func (f *frontDoor) refuse(w http.ResponseWriter, err error) {
	e := restErrorOf(err)
	if f.plain {
		http.Error(w, e.Message, e.httpStatus)
		return
	}
	e.write(w)
}

// beginTracker knows whether an answer has begun.
type beginTracker struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader begins the answer.
func (t *beginTracker) WriteHeader(code int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(code)
}

// Write begins the answer, if nothing did.
func (t *beginTracker) Write(data []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController find the connection.
func (t *beginTracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }
