package gate_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
)

// TestEnter asks the gate for calls without any connection: what has room passes until it leaves, and nothing passes once the
// member stops.
func TestEnter(t *testing.T) {
	rooms, err := gate.NewRooms(gate.Limits{CallsMax: 1, WaitsMax: 1, ConnectionsMax: 1, IntakeBytesMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	g, err := gate.New(gate.Options{
		Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(), RequestBytesMax: 1 << 10, Stopping: stopping, Rooms: rooms,
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func() (func(), error) {
		return g.Enter(share.Caller{}, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{})
	}
	leave, err := get()
	if err != nil {
		t.Fatalf("the first call: %v", err)
	}
	_, err = get()
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS {
		t.Errorf("a second call: got %v, want TOO_MANY_REQUESTS", err)
	}
	end, err := g.Enter(share.Caller{}, tenurev1.WatchService_Watch_FullMethodName, nil)
	if err != nil {
		t.Fatalf("a stream beside the call: %v", err)
	}
	end()
	leave()
	if leave, err = get(); err != nil {
		t.Errorf("a call after the first: %v", err)
	} else {
		leave()
	}
	// What the codec could not decode is refused, and takes no room.
	damaged := &tenurev1.GetRequest{}
	codec := gate.NewCodec(0)
	data, err := codec.Marshal(&tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err = codec.Unmarshal(data, damaged); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = g.Enter(share.Caller{}, tenurev1.KVService_Get_FullMethodName, damaged)
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE {
			t.Errorf("a message above the limit: got %v, want TOO_LARGE", err)
		}
	}
	stop()
	_, err = get()
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_STOPPING {
		t.Errorf("a call while the member stops: got %v, want STOPPING", err)
	}
}

// TestFewLargeAnswersAreMadeAtATime has as many answers made as may be, and one more for each method that makes large ones.
func TestFewLargeAnswersAreMadeAtATime(t *testing.T) {
	rooms, err := gate.NewRooms(gate.Limits{CallsMax: 1000, WaitsMax: 1, ConnectionsMax: 1, IntakeBytesMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Options{
		Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(), RequestBytesMax: 1 << 10, Stopping: t.Context(), Rooms: rooms,
	})
	if err != nil {
		t.Fatal(err)
	}
	build := func(ctx context.Context, method string, then func()) error {
		_, err := g.Unary(ctx, &tenurev1.GetRequest{}, &grpc.UnaryServerInfo{FullMethod: method},
			func(ctx context.Context, _ any) (any, error) {
				if err := unread.Begin(ctx); err != nil {
					return nil, err
				}
				then()
				return &tenurev1.GetResponse{}, nil
			})
		return err
	}
	begun, release := make(chan struct{}), make(chan struct{})
	var builds errgroup.Group
	for range cap(unread.NewBuilds()) {
		builds.Go(func() error {
			return build(t.Context(), tenurev1.KVService_List_FullMethodName, func() { begun <- struct{}{}; <-release })
		})
		<-begun
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for method, large := range map[string]bool{
		tenurev1.KVService_List_FullMethodName:                true,
		tenurev1.KVService_Txn_FullMethodName:                 true,
		tenurev1.SessionService_GetSession_FullMethodName:     true,
		tenurev1.SessionService_ListSessions_FullMethodName:   true,
		tenurev1.SessionService_AttachSession_FullMethodName:  true,
		tenurev1.LockService_GetLock_FullMethodName:           true,
		tenurev1.LockService_ListLocks_FullMethodName:         true,
		tenurev1.KVService_Get_FullMethodName:                 true,
		tenurev1.KVService_Put_FullMethodName:                 false,
		tenurev1.SessionService_RenewSession_FullMethodName:   false,
		tenurev1.SessionService_DestroySession_FullMethodName: false,
	} {
		if err := build(late, method, func() {}); (err != nil) != large {
			t.Errorf("%s: got %v; want that it waits: %v", method, err, large)
		}
	}
	close(release)
	if err := builds.Wait(); err != nil {
		t.Error(err)
	}
}

// insideAddress is the address of calls inside the process.
type insideAddress struct{}

func (insideAddress) Network() string { return "bufconn" }
func (insideAddress) String() string  { return "bufconn" }

// TestAnswersInsideTheProcessKeepTheirTurn makes as many lists for callers inside the process as may be made at a time, which are on their way
// to them, and one more.
func TestAnswersInsideTheProcessKeepTheirTurn(t *testing.T) {
	rooms, err := gate.NewRooms(gate.Limits{CallsMax: 1000, WaitsMax: 1, ConnectionsMax: 1, IntakeBytesMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Options{
		Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(), RequestBytesMax: 1 << 10, Stopping: t.Context(), Rooms: rooms,
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func(ctx context.Context, onItsWay func()) error {
		return rooms.Inside(ctx, tenurev1.KVService_List_FullMethodName, &tenurev1.ListRequest{}, nil, nil,
			func(ctx context.Context, method string, request, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				sent, _ := metadata.FromOutgoingContext(ctx)
				ctx = peer.NewContext(metadata.NewIncomingContext(ctx, sent), &peer.Peer{Addr: insideAddress{}})
				_, listErr := g.Unary(ctx, request, &grpc.UnaryServerInfo{FullMethod: method},
					func(ctx context.Context, _ any) (any, error) { return &tenurev1.ListResponse{}, unread.Begin(ctx) })
				onItsWay()
				return listErr
			})
	}
	made, arrive := make(chan struct{}), make(chan struct{})
	var lists errgroup.Group
	for range cap(unread.NewBuilds()) {
		lists.Go(func() error { return list(t.Context(), func() { made <- struct{}{}; <-arrive }) })
		<-made
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if list(late, func() {}) == nil {
		t.Error("one more was made while all others were on their way")
	}
	close(arrive)
	if err = lists.Wait(); err != nil {
		t.Error(err)
	}
	for range 2 * cap(unread.NewBuilds()) {
		if err = list(t.Context(), func() {}); err != nil {
			t.Errorf("the others have arrived: %v", err)
		}
	}
}
