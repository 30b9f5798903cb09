package gate

import (
	"context"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

const (
	// MetadataRemoteAddress names, in a call of REST, where its client is.
	MetadataRemoteAddress = "tenure-remote-address"
	// MetadataRequestID names the id of a call in the metadata of its answer.
	MetadataRequestID = "tenure-request-id"
)

// Address returns the network address of a call's origin: for REST the HTTP client's. Only the connection inside
// this process is believed what it says about others.
func Address(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return ""
	}
	if !inProcess(ctx) {
		return from.Addr.String()
	}
	if given := metadata.ValueFromIncomingContext(ctx, MetadataRemoteAddress); len(given) > 0 {
		return given[0]
	}
	return ""
}

// inProcess reports whether a call comes from this process, as those of REST do.
func inProcess(ctx context.Context) bool {
	from, ok := peer.FromContext(ctx)
	return ok && from.Addr != nil && from.Addr.Network() == "bufconn"
}
