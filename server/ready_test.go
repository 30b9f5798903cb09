package server_test

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// TestAMemberOfSeveralIsReadyWithoutALeader starts one member of three again, alone. Whoever starts it is not to wait for the others.
func TestAMemberOfSeveralIsReadyWithoutALeader(t *testing.T) {
	t.Parallel()
	var taking sync.Mutex
	disks := map[string]storage.FS{}
	c := startCluster(t, 3, func(c *server.Config) {
		taking.Lock()
		defer taking.Unlock()
		disks[c.Name] = c.FS
	})
	c.leader(t)
	for _, m := range c.members {
		m.stop()
	}
	for _, m := range c.members {
		if err := m.wait(); err != nil {
			t.Fatal(err)
		}
	}
	alone := startMember(t, func(c *server.Config) { c.Name, c.FS, c.Tick = "m1", disks["m1"], clusterTick })
	status, err := alone.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil || status.GetLeader() != "" || len(status.GetMembers()) != 3 {
		t.Errorf("got %v, %v, want the three members that it knows, and no leader", status, err)
	}
	_, err = alone.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
	wantError(t, err, codes.Unavailable, "NO_LEADER")
}

// TestAddressesAreKnownOnceItIsReady is for the race detector, too.
func TestAddressesAreKnownOnceItIsReady(t *testing.T) {
	s, err := server.New(server.Config{
		DataDir: "data", FS: storage.NewMemFS(), ListenAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	await(t, "the member is ready", func() bool {
		_ = s.Addresses()
		select {
		case <-s.Ready():
			return true
		default:
			return false
		}
	})
	if got := s.Addresses(); got.GRPC == "" || got.HTTP == "" || got.Peer == "" {
		t.Errorf("a member that is ready listens at %+v, want all three", got)
	}
	stop()
	if err = <-ended; err != nil {
		t.Error(err)
	}
}
