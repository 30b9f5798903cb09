package agent

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// remembering is a client that remembers which cluster and which member answered last.
type remembering struct {
	tenurev1.CatalogServiceClient
	header atomic.Pointer[tenurev1.ResponseHeader]
}

// GetNode returns a node with its services and checks.
func (r *remembering) GetNode(
	ctx context.Context, request *tenurev1.GetNodeRequest, options ...grpc.CallOption,
) (*tenurev1.GetNodeResponse, error) {
	response, err := r.CatalogServiceClient.GetNode(ctx, request, options...)
	r.note(response.GetHeader())
	return response, err
}

// SyncNode writes and deletes what the agent registers.
func (r *remembering) SyncNode(
	ctx context.Context, request *tenurev1.SyncNodeRequest, options ...grpc.CallOption,
) (*tenurev1.SyncNodeResponse, error) {
	response, err := r.CatalogServiceClient.SyncNode(ctx, request, options...)
	r.note(response.GetHeader())
	return response, err
}

func (r *remembering) note(h *tenurev1.ResponseHeader) {
	if h != nil {
		r.header.Store(&tenurev1.ResponseHeader{ClusterId: h.GetClusterId(), MemberId: h.GetMemberId()})
	}
}

// last returns what was noted last: no revision and no term, as an agent is no part of the cluster.
func (r *remembering) last() *tenurev1.ResponseHeader {
	if h := r.header.Load(); h != nil {
		return h
	}
	return &tenurev1.ResponseHeader{}
}
