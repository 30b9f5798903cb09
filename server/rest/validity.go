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

// withValidity notes for the requests of a connection until when the certificate of its client is valid.
func withValidity(ctx context.Context, conn net.Conn) context.Context {
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return ctx
	}
	if below, ok := secured.NetConn().(interface{ Valid() context.Context }); ok {
		return context.WithValue(ctx, validityKey{}, below.Valid())
	}
	return ctx
}

// validOf returns a context that ends when the client certificate of a request's connection is no longer valid, so that the connection
// ends soon. Without one it never ends.
func validOf(r *http.Request) context.Context {
	if valid, ok := r.Context().Value(validityKey{}).(context.Context); ok {
		return valid
	}
	return context.Background()
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
