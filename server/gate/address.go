package gate

import (
	"context"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/tenure-io/tenure/server/audit"
)

const (
	// MetadataRemoteAddress names, in a call of REST, where its client is.
	MetadataRemoteAddress = "tenure-remote-address"
	// MetadataRequestID names the id of a call in the metadata of its answer.
	MetadataRequestID = "tenure-request-id"
	// MetadataVia names, in a call inside this process, the way of its client: ViaREST; without it, it is Consul's port.
	MetadataVia = "tenure-via"
	// ViaREST is the way over REST.
	ViaREST = "rest"
	// viaConsul is the way over Consul's port.
	viaConsul = "consul"
)

// from says where a call comes from, for those who write that down.
func from(ctx context.Context) audit.From {
	f := audit.From{Address: Address(ctx), Via: "grpc"}
	if inProcess(ctx) {
		f.Via = viaConsul
		if len(metadata.ValueFromIncomingContext(ctx, MetadataVia)) > 0 {
			f.Via = ViaREST
		}
	}
	return f
}

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
