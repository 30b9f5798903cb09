package gate

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// metadataInsideCall names a call inside this process.
const metadataInsideCall = "tenure-inside-call"

// Inside is the interceptor for clients inside this process, as that of REST: of large answers, others are made once they have theirs.
func (r *Rooms) Inside(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if buildsMuch(method) {
		name, end := r.inside.Begin()
		defer end()
		ctx = metadata.AppendToOutgoingContext(ctx, metadataInsideCall, name)
	}
	return invoke(ctx, method, request, response, conn, options...)
}

// insideCall returns the name of a call that comes from inside this process; empty if it comes from elsewhere, or has none.
func insideCall(ctx context.Context) string {
	if !inProcess(ctx) {
		return ""
	}
	if given := metadata.ValueFromIncomingContext(ctx, metadataInsideCall); len(given) > 0 {
		return given[0]
	}
	return ""
}
