package transport_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// relaying answers every message of a stream with an empty one.
type relaying struct {
	peerv1.UnimplementedRelayServiceServer
}

func (relaying) ProposeMany(stream grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]) error {
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err = stream.Send(&peerv1.ProposeManyResponse{}); err != nil {
			return err
		}
	}
}

// A stream was let in when it began. Since then its member may have been removed, or have started again elsewhere.
func TestAStreamIsCheckedWithEachMessage(t *testing.T) {
	for name, test := range map[string]struct {
		change func(to, from *end)
		want   error
	}{
		"removed": {func(to, from *end) { to.SetPeers(nil, []uint64{from.id}) }, transport.ErrRemoved},
		"a newer run": {func(to, from *end) {
			newer := from.peer()
			newer.Starts = transport.NextStarts(newer.Starts, 1)
			to.SetPeers([]transport.Peer{newer}, nil)
		}, transport.ErrStaleIncarnation},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, 1, transport.Options{Services: []func(grpc.ServiceRegistrar){
				func(r grpc.ServiceRegistrar) { peerv1.RegisterRelayServiceServer(r, relaying{}) },
			}})
			b := start(t, 2, transport.Options{})
			meet(a, b)
			conn, err := b.Conn(1)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := peerv1.NewRelayServiceClient(conn).ProposeMany(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ask := func() error {
				_ = stream.Send(&peerv1.ProposeManyRequest{}) // What fails is seen when it is read.
				_, err := stream.Recv()
				return err
			}
			if err := ask(); err != nil {
				t.Fatalf("a member's message: %v", err)
			}
			test.change(a, b)
			if err := ask(); !strings.HasPrefix(status.Convert(err).Message(), test.want.Error()) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
