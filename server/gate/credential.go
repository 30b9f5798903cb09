package gate

import (
	"context"
	"crypto/x509"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/tenure-io/tenure/server/identity"
)

// MetadataCertificate carries, in a call of REST, the client's certificate that its connection has verified.
const MetadataCertificate = "tenure-certificate-bin"

// callerOf returns who makes a call: as a token says, else as the certificate of its connection does. What a connection inside this
// process says of its clients is taken from no other.
func (g *Gate) callerOf(ctx context.Context) identity.Caller {
	return identity.Of(metadata.ValueFromIncomingContext(ctx, identity.Metadata), certificateOf(ctx), g.certificates)
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
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return nil
	}
	info := from.AuthInfo
	if counted, ok := info.(answerInfo); ok {
		info = counted.AuthInfo
	}
	if secured, ok := info.(credentials.TLSInfo); ok && len(secured.State.VerifiedChains) > 0 {
		return secured.State.VerifiedChains[0][0]
	}
	return nil
}
