package cluster_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// capacityValue is how large the values of the measured keys are, in bytes.
const capacityValue = 100

// What sessions, keys, holds and places take of the store is what docs/operations.md says, or less.
func TestCapacity(t *testing.T) {
	ctx := t.Context()
	const count = 500
	m := rig.Start(ctx, t, binary)
	cl := dial(t, m, "")
	sessions := make([]string, count)
	value := &tenurev1.PutRequest_Value{Value: make([]byte, capacityValue)}
	for _, thing := range []struct {
		name             string
		liveMax, pastMax float64 // bytes, as the page says
		add              func(ctx context.Context, i int) error
	}{
		{"session", 100, 80, func(ctx context.Context, i int) error {
			s, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "worker-0001", Ttl: durationpb.New(time.Hour)})
			sessions[i] = s.GetSessionId()
			return err
		}},
		{"key", 160, 180, func(ctx context.Context, i int) error {
			_, err := cl.Put(ctx, &tenurev1.PutRequest{Key: fmt.Sprintf("capacity/key/%06d", i), Content: value})
			return err
		}},
		{"held lock", 250, 190, func(ctx context.Context, i int) error {
			_, err := cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: fmt.Sprintf("capacity/lock/%06d", i), SessionId: sessions[i]})
			return err
		}},
		{"waiter", 110, 80, func(ctx context.Context, i int) error {
			_, err := messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
				return cl.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: "capacity/one", SessionId: sessions[i]})
			})(ctx)
			return err
		}},
	} {
		all, past := usage(ctx, t, m)
		var adding errgroup.Group
		adding.SetLimit(32)
		for i := range count {
			adding.Go(func() error { return thing.add(ctx, i) })
		}
		if err := adding.Wait(); err != nil {
			t.Fatalf("%s: %v", thing.name, err)
		}
		allNow, pastNow := usage(ctx, t, m)
		history := (pastNow - past) / count
		live := (allNow-all)/count - history
		t.Logf("%d × %s: %.0f bytes, and %.0f of history, each", count, thing.name, live, history)
		if live > thing.liveMax || history > thing.pastMax || live < 1 || history < 1 {
			t.Errorf("a %s takes %.0f bytes and %.0f of history; the page says at most %.0f and %.0f",
				thing.name, live, history, thing.liveMax, thing.pastMax)
		}
	}
}

// usage returns how large the store is, in bytes, and what of it is history.
func usage(ctx context.Context, t *testing.T, m *rig.Member) (all, past float64) {
	t.Helper()
	_, metrics, err := m.Fetch(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
		case name == "tenure_storage_state_bytes":
			all = v
		case name == "tenure_storage_history_bytes":
			past = v
		}
	}
	return all, past
}
