package rest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"github.com/tenure-io/tenure/server/reason"
)

// validityKey is the key of a connection's validity in the contexts of its requests.
type validityKey struct{}

// validity is how long the certificate of a connection's client is valid.
type validity interface {
	// Valid returns a context that ends when it is no longer valid, so that the connection ends soon.
	Valid() context.Context
	// Over reports whether that was so long ago that no more requests are served.
	Over() bool
}

// withValidity notes for the requests of a connection until when the certificate of its client is valid.
func withValidity(ctx context.Context, conn net.Conn) context.Context {
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return ctx
	}
	if below, ok := secured.NetConn().(validity); ok {
		return context.WithValue(ctx, validityKey{}, below)
	}
	return ctx
}

// validOf returns a context that ends when the client certificate of a request's connection is no longer valid, so that the connection
// ends soon. Without one it never ends.
func validOf(r *http.Request) context.Context {
	if v, ok := r.Context().Value(validityKey{}).(validity); ok {
		return v.Valid()
	}
	return context.Background()
}

// over reports whether the client certificate of a request's connection has not been valid for so long that the request is refused.
func over(r *http.Request) bool {
	v, ok := r.Context().Value(validityKey{}).(validity)
	return ok && v.Over()
}

// endStream ends a request that streams when the member stops serving, or the certificate of its connection is no longer valid, until stop
// is called.
func endStream(r *http.Request, cancel context.CancelCauseFunc) (stop func()) {
	stops := []func() bool{
		context.AfterFunc(validOf(r), func() { cancel(reason.ErrConnectionEnds) }), //nolint:contextcheck // It is the connection's life.
	}
	if streams, ok := r.Context().Value(streamsKey{}).(context.Context); ok {
		stops = append(stops, context.AfterFunc(streams, func() { cancel(reason.ErrStopping) })) //nolint:contextcheck // It is the server's life.
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}
