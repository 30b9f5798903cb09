package gate

import (
	"context"
	"crypto/x509"
	"net/http"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// MetadataCertificate carries, in a call of REST, the client's certificate that its connection has verified.
const MetadataCertificate = "tenure-certificate-bin"

// Certified returns a handler of HTTP whose calls inside this process carry the client's certificate that its connection has verified.
func Certified(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leaf := leafOf(r); leaf != nil {
			r = r.WithContext(metadata.AppendToOutgoingContext(r.Context(), MetadataCertificate, string(leaf.Raw)))
		}
		handler.ServeHTTP(w, r)
	})
}

// leafOf returns the client's certificate that the connection of a request has verified; nil if there is none.
func leafOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// claimed refuses a call from outside that says itself which certificate its client has: a handshake does.
func claimed(ctx context.Context) error {
	if len(metadata.ValueFromIncomingContext(ctx, MetadataCertificate)) > 0 && !inProcess(ctx) {
		return reason.Invalid(MetadataCertificate, "is for calls inside a member; show the certificate in the handshake of TLS")
	}
	return nil
}

// callerOf returns who makes a call: as a token says, else as the certificate of its connection does. What a connection inside this
// process says of its clients is taken from no other.
func (g *Gate) callerOf(ctx context.Context) *identity.Client {
	said := metadata.ValueFromIncomingContext(ctx, identity.Metadata)
	var certificate *x509.Certificate
	if len(said) == 0 {
		certificate = certificateOf(ctx)
	}
	if from, _ := peer.FromContext(ctx); from != nil {
		if info, ok := from.AuthInfo.(answerInfo); ok {
			return info.caller.Of(said, certificate, g.certificates)
		}
	}
	return &identity.Client{Caller: identity.Of(said, certificate, g.certificates)}
}

// WatchHTTP decides whether a request over HTTP may see how the member is: its metrics and checks. It needs the right to see the
// status.
func (g *Gate) WatchHTTP(r *http.Request) error {
	status := tenurev1.ClusterService_GetStatus_FullMethodName
	if g.authority == nil || !g.authority.Asks(status) {
		return nil
	}
	request := &tenurev1.GetStatusRequest{}
	ctx, audited := g.audit.Begin(r.Context(), "HTTP "+r.URL.Path, func(context.Context) audit.From {
		return audit.From{Address: r.RemoteAddr, Via: ViaREST}
	})
	err := audited.Message(request)
	if err == nil {
		caller := &identity.Client{Caller: identity.Of(r.Header.Values(identity.Metadata), leafOf(r), g.certificates)}
		_, err = g.authority.Call(ctx, caller, status, request)
	}
	why := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	if err != nil {
		why, err = g.refuse(status, err)
	}
	audited.End(why, err)
	return err
}

// certificateOf returns the verified certificate of the client that makes a call, or nil.
func certificateOf(ctx context.Context) *x509.Certificate {
	if inProcess(ctx) {
		if given := metadata.ValueFromIncomingContext(ctx, MetadataCertificate); len(given) == 1 {
			if leaf, err := x509.ParseCertificate([]byte(given[0])); err == nil {
				return leaf
			}
		}
		return nil
	}
	if secured := securedOf(ctx); secured != nil {
		return secured.Certificate()
	}
	return nil
}

// secured is what a handshake of TLS leaves for the calls of its connection.
type secured interface {
	// Certificate returns the verified certificate of the client, or nil.
	Certificate() *x509.Certificate
	// Valid returns a context that ends when that certificate is no longer valid.
	Valid() context.Context
	// Over reports whether it ended so long ago that the client has heard of it.
	Over() bool
}

// securedOf returns what the handshake of a call's connection left; nil without TLS.
func securedOf(ctx context.Context) secured {
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return nil
	}
	info := from.AuthInfo
	if counted, ok := info.(answerInfo); ok {
		info = counted.AuthInfo
	}
	s, _ := info.(secured)
	return s
}

// ConnectionValid returns a context that ends when the certificate that a call's connection has shown is no longer valid, so that the
// connection ends soon. Without one the context never ends.
func ConnectionValid(ctx context.Context) context.Context {
	if s := securedOf(ctx); s != nil {
		return s.Valid()
	}
	return context.Background()
}

// connectionOver reports whether the client of a call has heard that the certificate of its connection is no longer valid, and has begun the call
// there all the same.
func connectionOver(ctx context.Context) bool {
	s := securedOf(ctx)
	return s != nil && s.Over()
}
