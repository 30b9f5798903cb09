package server_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// A member with a small store takes one write of a large value after the other: its history is compacted when the store needs it,
// and not when a timer says so. No time passes here.
func TestOverwritingOneKeyNeverFillsTheStore(t *testing.T) {
	const storeBytes, valueBytes, writes = 8 << 20, 100 << 10, 400
	synctest.Test(t, func(t *testing.T) {
		grpcListener := bufconn.Listen(1 << 20)
		s, err := server.New(server.Config{
			DataDir: "data", FS: storage.NewMemFS(), ListenAddr: "127.0.0.1:1", HTTPAddr: "127.0.0.1:2", PeerAddr: "127.0.0.1:3",
			ConnectionsMax: 100,
			Listen: func(_ context.Context, address string) (net.Listener, error) {
				if address == "127.0.0.1:1" {
					return grpcListener, nil
				}
				return bufconn.Listen(1 << 10), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		defer func() {
			stop()
			if failure := <-ended; failure != nil {
				t.Error(failure)
			}
		}()
		select {
		case <-s.Ready():
		case failure := <-ended:
			ended <- failure
			return
		}
		conn, err := grpc.NewClient("passthrough:///member", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return grpcListener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // The member may have closed it.
		limits := &tenurev1.Limits{StoreBytesMax: new(uint64(storeBytes))}
		if _, err := tenurev1.NewClusterServiceClient(conn).SetLimits(ctx, &tenurev1.SetLimitsRequest{Limits: limits}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute) // The limits are looked at now and then.
		synctest.Wait()
		kv := tenurev1.NewKVServiceClient(conn)
		content := &tenurev1.PutRequest_Value{Value: make([]byte, valueBytes)}
		for i := range writes {
			if _, err := kv.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: content}); err != nil {
				t.Fatalf("write %d: %v", i, err)
			}
			synctest.Wait()
		}
	})
}
