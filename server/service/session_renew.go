package service

import (
	"context"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// KeepAlive serves SessionService.
func (a *Sessions) KeepAlive(
	stream grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse],
) error {
	return a.renewer.KeepAlive(stream)
}

// RenewSession serves SessionService.
func (a *Sessions) RenewSession(
	ctx context.Context, r *tenurev1.RenewSessionRequest,
) (*tenurev1.RenewSessionResponse, error) {
	return a.renewer.RenewSession(ctx, r)
}
