package server

import (
	"context"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

const (
	// metadataRemoteAddress names, in a call of REST, where its client is.
	metadataRemoteAddress = "tenure-remote-address"
	// metadataRequestID names the id of a call in the metadata of its answer.
	metadataRequestID = "tenure-request-id"
)

// callAddress returns the network address of a call's origin: for REST the HTTP client's. Only the connection inside
// this process is believed what it says about others.
func callAddress(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return ""
	}
	if from.Addr.Network() != "bufconn" {
		return from.Addr.String()
	}
	if given := metadata.ValueFromIncomingContext(ctx, metadataRemoteAddress); len(given) > 0 {
		return given[0]
	}
	return ""
}
