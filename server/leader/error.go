package leader

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/proposals"
	"github.com/tenure-io/tenure/server/reason"
)

// sentMark tells whether a call to another member left this one. gRPC tells the peer of a call only if it found a
// connection for it; a call that found none was not received by anybody.
type sentMark struct{ peer peer.Peer }

// option makes a call leave its mark.
func (m *sentMark) option() grpc.CallOption { return grpc.Peer(&m.peer) }

// of tells of a call that has ended with an error whether it was sent.
func (m *sentMark) of(err error) bool {
	if broken, ok := errors.AsType[*proposals.BrokenError](err); ok {
		return broken.Sent
	}
	return m.peer.Addr != nil
}

// FromPeer returns what the error of a call to another member means. An error of the API comes with its details. Any
// other was made on the way: then a call that was sent has an unknown outcome, and one that was not, none.
func FromPeer(ctx context.Context, err error, sent bool) *reason.Error {
	s := status.Convert(err)
	if info := reason.In(s); info != nil {
		return FromInfo(s, info)
	}
	switch {
	case !sent && ctx.Err() == nil:
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "the leader cannot be reached")
	case !sent:
		return reason.Of(newNotApplied(ctx))
	case ctx.Err() != nil:
		return reason.UnknownOutcome(ctx.Err())
	default:
		return reason.UnknownOutcome(err)
	}
}

// FromInfo rebuilds an error of the API.
func FromInfo(s *status.Status, info *errdetails.ErrorInfo) *reason.Error {
	named, _ := reason.Named(info.GetReason())
	e := &reason.Error{
		Reason:   named,
		Message:  s.Message(),
		Metadata: maps.Clone(info.GetMetadata()),
		Far:      true,
	}
	e.Applied = e.Metadata["applied"]
	delete(e.Metadata, "applied")
	if ms, err := strconv.ParseInt(e.Metadata["retry_after_ms"], 10, 64); err == nil {
		e.RetryAfter = time.Duration(ms) * time.Millisecond
		delete(e.Metadata, "retry_after_ms")
	}
	for _, d := range s.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			e.Violations = bad.GetFieldViolations()
		}
	}
	return e
}
