package lock

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestHoldIsAskedForWhenItsWatchCannotGoOn(t *testing.T) {
	hold := tenure.Sequencer{Key: "k", LockIndex: 1, Token: 7}
	asked, watched := 0, []uint64(nil)
	f := &fake.Member{
		OnWatch: func(r *tenurev1.WatchRequest, _ grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
			watched = append(watched, r.GetAfterRevision())
			return fake.Refusal(codes.OutOfRange, "REVISION_COMPACTED", "no")
		},
		OnCheck: func(*tenurev1.CheckSequencerRequest) (*tenurev1.CheckSequencerResponse, error) {
			asked++
			return &tenurev1.CheckSequencerResponse{
				Header: &tenurev1.ResponseHeader{Revision: uint64(100 * asked)}, Holds: asked < 3,
			}, nil
		},
	}
	err := watchHold(t.Context(), fake.ClientAt(t, f.Serve(t)), hold)
	if _, ok := errors.AsType[*cli.HoldLostError](err); !ok || asked != 3 {
		t.Errorf("got %v after %d questions, want the loss after 3", err, asked)
	}
	if len(watched) != 3 || watched[0] != 7 || watched[1] != 100 || watched[2] != 200 {
		t.Errorf("watched after revisions %v, want 7, then what each answer showed", watched)
	}
}
