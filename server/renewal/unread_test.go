package renewal

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
)

// floodingClient renews as fast as it can, and reads nothing.
type floodingClient struct {
	grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	ctx   context.Context
	flood *tenurev1.KeepAliveRequest
	taken atomic.Int64 // renewals that the member took
}

func (c *floodingClient) Context() context.Context { return c.ctx }

func (c *floodingClient) Recv() (*tenurev1.KeepAliveRequest, error) {
	if c.ctx.Err() != nil {
		return nil, io.ErrUnexpectedEOF
	}
	c.taken.Add(int64(len(c.flood.GetRenewals())))
	return c.flood, nil
}

func (c *floodingClient) Send(*tenurev1.KeepAliveResponse) error {
	<-c.ctx.Done()
	return c.ctx.Err()
}

// TestAStreamOfRenewalsThatIsNotReadPinsLittle renews with the longest texts on a stream that is never read. The member takes
// a few renewals, keeps little of each, and ends the stream.
func TestAStreamOfRenewalsThatIsNotReadPinsLittle(t *testing.T) {
	rig := newRelayRig(t)
	a := rig.renewer
	a.UnreadMax = 50 * time.Millisecond
	var err error
	if a.Timers, err = expiry.New(expiry.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	client := &floodingClient{ctx: ctx, flood: &tenurev1.KeepAliveRequest{}}
	for range core.RenewalsMax {
		client.flood.Renewals = append(client.flood.Renewals, &tenurev1.SessionRenewal{SessionId: strings.Repeat("s", 1000)})
	}
	ended := make(chan error, 1)
	go func() { ended <- a.KeepAlive(client) }()
	select {
	case err := <-ended:
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED {
			t.Errorf("got %v, want that the call gives up", err)
		}
	case <-time.After(patienceOfTests):
		t.Error("the stream goes on")
	}
	// Some wait, one message is being sent, and one is being taken.
	if taken, most := client.taken.Load(), int64(core.SlotsMax*core.RenewalsPerSlot+2*core.RenewalsMax); taken > most {
		t.Errorf("the member took %d renewals, want at most %d", taken, most)
	}
}

// TestLittleIsKeptOfARenewal looks at what a stream keeps of texts and secrets of any length.
func TestLittleIsKeptOfARenewal(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000000"
	asked := askedRenewals(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{
		{SessionId: id, Number: 7, Epoch: 8, Secret: make([]byte, gate.SecretBytes)},
		{SessionId: strings.Repeat("ü", 1<<19), Secret: make([]byte, 1<<20)},
		{SessionId: id + "é" + strings.Repeat("\x01", 1<<19)},
	}}, nil, 1)
	if got := asked[0]; got.Session != id || got.Number != 7 || got.Epoch != 8 || got.Invalid || len(got.Secret) != gate.SecretBytes {
		t.Errorf("got %+v, want all of it", got)
	}
	for _, got := range asked[1:] {
		if len(got.Session) > echoedSessionBytesMax || len(got.Session) <= sessionTextBytes || got.Secret != nil || !got.Invalid {
			t.Errorf("kept %d bytes of the text and %d of the secret", len(got.Session), len(got.Secret))
		}
	}
}
