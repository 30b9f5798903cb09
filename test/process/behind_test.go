package process_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// behindValueBytes is the size of one value. It cannot be compressed.
	behindValueBytes = 128 << 10
	// behindTime bounds every wait. It is far more than any of them takes.
	behindTime = 15 * time.Minute
)

// behindWriter writes new keys, one after the other.
type behindWriter struct {
	t       *testing.T
	conn    *grpc.ClientConn // to a member that is never away
	rng     *rand.Rand
	written atomic.Int64 // keys
}

// key returns the name of a key that was written.
func (w *behindWriter) key(n int64) string { return fmt.Sprintf("behind/%08d", n) }

// put writes the next key, until it is acknowledged.
func (w *behindWriter) put(ctx context.Context) error {
	value := make([]byte, behindValueBytes)
	for i := range value {
		value[i] = byte(w.rng.Uint32())
	}
	for {
		_, err := tenurev1.NewKVServiceClient(w.conn).Put(ctx, &tenurev1.PutRequest{
			Key: w.key(w.written.Load()), Content: &tenurev1.PutRequest_Value{Value: value},
		})
		if err == nil {
			w.written.Add(1)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		wait(ctx, 20*time.Millisecond)
	}
}

// fill writes so many bytes at once.
func (w *behindWriter) fill(ctx context.Context, bytes int) {
	w.t.Helper()
	for range bytes / behindValueBytes {
		if err := w.put(ctx); err != nil {
			w.t.Fatal(err)
		}
	}
}

// metric returns the sum of a metric of some members. One that does not answer counts nothing.
func metric(ctx context.Context, name string, members ...*rig.Member) float64 {
	sum := 0.0
	for _, m := range members {
		_, body, err := m.Fetch(ctx, "/metrics")
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
				value, _ := strconv.ParseFloat(text, 64)
				sum += value
			}
		}
	}
	return sum
}

// until waits for something that others do.
func until(ctx context.Context, t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, behindTime)
	defer cancel()
	for !is() {
		wait(ctx, 250*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A member that was away while eight times the bound of the log was written (in CI twice the bound; with -short a little more than it, and then
// at half the speed) comes back over a slow link that breaks again and
// again, while writes go on: what it has received of one snapshot is not sent again with the next, and it finds the log behind
// the last.
func TestAMemberFarBehindComesBackUnderWrites(t *testing.T) {
	ctx := t.Context()
	logBytesMax := scale(16<<20, 64<<20)
	away, bytesPerSecond := scale(2, 8)*logBytesMax, 4<<20
	if testing.Short() {
		away, bytesPerSecond = logBytesMax*5/4, 2<<20
	}
	c := rig.StartLinkedCluster(ctx, t, binary, 3, "--log-bytes-max", strconv.Itoa(logBytesMax))
	behind, link, other := c.Members[2], c.Links[2], c.Members[0]
	if c.Leader(ctx) == behind {
		behind, link, other = c.Members[0], c.Links[0], c.Members[2]
	}
	conn := other.Dial()
	defer func() { _ = conn.Close() }()
	w := &behindWriter{t: t, conn: conn, rng: rand.New(rand.NewPCG(1, 1))}
	w.fill(ctx, behindValueBytes)
	behind.Kill()
	w.fill(ctx, away)
	link.Throttle(scale(12<<20, 8<<20))

	writing, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second * behindValueBytes / time.Duration(bytesPerSecond))
		defer tick.Stop()
		for writing.Err() == nil {
			if w.put(writing) == nil {
				<-tick.C
			}
		}
	}()

	behind.Launch(ctx)
	until(ctx, t, "the member to serve HTTP", func() bool { _, _, err := behind.Fetch(ctx, "/metrics"); return err == nil })
	received := func() float64 { return metric(ctx, "tenure_snapshot_received_bytes_total", behind) }
	for cut := 1; cut <= 3; cut++ {
		until(ctx, t, "a part of a snapshot", func() bool { return received() >= float64(cut*away/4) })
		link.Cut()
	}
	installed := func() float64 { return metric(ctx, "tenure_snapshot_installed_total", behind) }
	until(ctx, t, "the snapshot to be installed", func() bool { return installed() > 0 })
	// It is back when it has what was acknowledged a moment ago, with writes going on.
	until(ctx, t, "the member to catch up", func() bool {
		s, err := behind.Status(ctx)
		if err != nil {
			return false
		}
		l, err := c.Leader(ctx).Status(ctx)
		return err == nil && s.GetAppliedIndex()+100 >= l.GetAppliedIndex()
	})
	stop()
	<-ended
	if err := get(ctx, behind, w.key(w.written.Load()-1)); err != nil {
		t.Errorf("the last key that was written: %v", err)
	}
	sent := metric(ctx, "tenure_snapshot_sent_bytes_total", c.Members...)
	reused := metric(ctx, "tenure_snapshot_reused_bytes_total", behind)
	const mib = 1 << 20
	t.Logf("away for %d MiB with a log of %d MiB; %.1f MiB written in all; snapshots: %.1f MiB sent, %.1f MiB received, "+
		"%.1f MiB reused, %.0f failed, %.0f installed", away/mib, logBytesMax/mib,
		float64(w.written.Load())*behindValueBytes/mib, sent/mib, received()/mib, reused/mib,
		metric(ctx, "tenure_snapshot_send_failures_total", c.Members...), installed())
}
