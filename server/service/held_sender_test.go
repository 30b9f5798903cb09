package service

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// patienceOfTests is how long a test waits for what must come.
const patienceOfTests = 30 * time.Second

// fullStore returns a store with more than a connection takes from a member whose client does not read.
func fullStore(t *testing.T) *storage.Store {
	t.Helper()
	var puts []*storev1.Command
	for i := range 16 {
		puts = append(puts, &storev1.Command{
			Kind: &storev1.Command_Put{Put: &storev1.Put{Key: fmt.Sprint(i), Value: make([]byte, 512<<10)}},
		})
	}
	return stores.With(t, puts...)
}

// TestWhoDoesNotReadHoldsNoSnapshot opens streams that show a snapshot, and reads none of them.
func TestWhoDoesNotReadHoldsNoSnapshot(t *testing.T) {
	node := &provingNode{store: fullStore(t), answers: make(chan error)}
	hub, err := watch.New(watch.Options{History: watch.FromStore(node.Store)})
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{Caller: &call.Caller{Node: node, Log: zap.NewNop(), Stopping: t.Context(), UnreadMax: 50 * time.Millisecond}, Hub: hub})
	ended := make(chan error, 1)
	server := grpc.NewServer(grpc.StreamInterceptor(
		func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, serve grpc.StreamHandler) error {
			failed := serve(srv, stream)
			ended <- failed
			return failed
		}))
	tenurev1.RegisterClusterServiceServer(server, a.Cluster)
	tenurev1.RegisterWatchServiceServer(server, a.Watches)
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///member",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for name, open := range map[string]func(ctx context.Context) error{
		"a backup": func(ctx context.Context) error {
			_, err := tenurev1.NewClusterServiceClient(conn).Backup(ctx, &tenurev1.BackupRequest{})
			return err
		},
		"the state that a watch begins with": func(ctx context.Context) error {
			_, err := tenurev1.NewWatchServiceClient(conn).Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{""}, Initial: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(t.Context()); err != nil {
				t.Fatal(err)
			}
			node.answers <- nil
			select {
			case err := <-ended:
				if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED {
					t.Errorf("got %v, want that the call gives up", err)
				}
			case <-time.After(patienceOfTests):
				t.Error("the call goes on, and holds its snapshot")
			}
		})
	}
}
