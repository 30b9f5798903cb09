package proof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	stuckValueBytes = 256 << 10
	// stuckHeapBytesMax is by how much the member may grow: its caches and its ring of recent events fill meanwhile, to some
	// 300 MiB, or half as much again where the collector is late. What the watchers do not read is many times as much.
	stuckHeapBytesMax = 1 << 30
	// stuckWatchers is how many do not read, and stuckResumed how many of them read all of it in the end.
	stuckWatchers, stuckResumed = 40, 10
	// stuckLagMax is how late a watcher that reads may be. It only tells slow from blocked.
	stuckLagMax = time.Minute
)

// openWatch opens a watch of a key and reads its first message.
func openWatch(ctx context.Context, t *testing.T, c *client, r *tenurev1.WatchRequest) grpc.ServerStreamingClient[tenurev1.WatchResponse] {
	t.Helper()
	stream, err := c.Watch(ctx, r)
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// versions reads a watch of one key until it has the version last, each once and in order, and returns the last one it had.
func versions(stream grpc.ServerStreamingClient[tenurev1.WatchResponse], had, last uint64) (uint64, error) {
	for had < last {
		r, err := stream.Recv()
		if err != nil {
			return had, err
		}
		for _, e := range r.GetEvents().GetEvents() {
			if v := e.GetKv().GetVersion(); v != had+1 {
				return had, fmt.Errorf("got version %d after %d", v, had)
			}
			had++
		}
	}
	return had, nil
}

// TestAWatcherThatDoesNotReadHarmsNobody lets watchers stop reading while much is written. Those who read, on the same
// connection and on another, have each write at once; the member does not grow by what is not read; and who stopped gets
// everything when it reads again, or, where compaction passed it, an error that says so and where to go on.
func TestAWatcherThatDoesNotReadHarmsNobody(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := rig.Start(ctx, t, binary)
	shared, own := connect(m), connect(m)
	defer shared.close()
	defer own.close()
	watch := func(c *client) grpc.ServerStreamingClient[tenurev1.WatchResponse] {
		return openWatch(ctx, t, c, &tenurev1.WatchRequest{Keys: []string{"k"}})
	}
	stuck := make([]grpc.ServerStreamingClient[tenurev1.WatchResponse], stuckWatchers)
	for i := range stuck {
		stuck[i] = watch(shared)
	}
	readers := []grpc.ServerStreamingClient[tenurev1.WatchResponse]{watch(shared), watch(own)}
	value := bytes.Repeat([]byte("x"), stuckValueBytes)
	writes := uint64(scaled(448, 4096))
	before, largest, slowest := live(ctx, t, m), 0.0, time.Duration(0)
	revision := uint64(0)
	for n := range writes {
		r, err := own.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Value{Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		revision = r.GetHeader().GetRevision()
		written := time.Now()
		for i, reader := range readers {
			if _, err := versions(reader, n, n+1); err != nil {
				t.Fatalf("reader %d: %v", i, err)
			}
		}
		slowest = max(slowest, time.Since(written))
		if n%64 == 0 {
			largest = max(largest, live(ctx, t, m)-before)
		}
	}
	unread := float64(len(stuck)) * float64(writes) * stuckValueBytes
	t.Logf("%d watchers did not read %.0f MiB: the heap grew by %.0f MiB at most, the slowest event for the others took %v",
		len(stuck), unread/(1<<20), largest/(1<<20), slowest)
	if largest > stuckHeapBytesMax || unread < 4*stuckHeapBytesMax {
		t.Errorf("the heap grew by %.0f bytes, want at most %d, of %.0f unread", largest, stuckHeapBytesMax, unread)
	}
	if slowest > stuckLagMax {
		t.Errorf("an event took %v, want at most %v", slowest, stuckLagMax)
	}
	for i, s := range stuck[:stuckResumed] {
		if _, err := versions(s, 0, writes); err != nil {
			t.Errorf("watcher %d, when it reads again: %v", i, err)
		}
	}
	if _, err := own.Compact(ctx, &tenurev1.CompactRequest{Revision: revision}); err != nil {
		t.Fatal(err)
	}
	for i, s := range stuck[stuckResumed:] {
		had, err := versions(s, 0, writes)
		wantError(t, err, codes.Aborted, "WATCHER_TOO_SLOW")
		if had >= writes {
			t.Errorf("watcher %d got all %d events, and was compacted", i, writes)
		}
		token := rig.ErrorInfo(err).GetMetadata()["resume_token"]
		resumed, err := shared.Watch(ctx, &tenurev1.WatchRequest{Keys: []string{"k"}, ResumeToken: token})
		if err == nil {
			_, err = resumed.Recv()
		}
		if token == "" {
			err = errors.Join(err, errors.New("no resume token"))
		}
		wantError(t, err, codes.OutOfRange, "REVISION_COMPACTED")
	}
}
