package proof_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	fanoutWriteInterval = 100 * time.Millisecond
	// fanoutGrace is how long after the last write everybody must have it in the long form, on a machine that has nothing
	// else to do. The short form runs anywhere; there fanoutBusyGrace only tells slow from stuck.
	fanoutGrace     = 5 * time.Second
	fanoutBusyGrace = time.Minute
)

// live returns the bytes that were live at the member's last garbage collection. The next one is due at twice as many; what
// is garbage until then is not what the member holds on to.
func live(ctx context.Context, t *testing.T, m *rig.Member) float64 {
	t.Helper()
	return metric(ctx, t, m, "go_memstats_next_gc_bytes") / 2
}

// heap returns the bytes of the heap in use that a member reports of itself.
func heap(ctx context.Context, t *testing.T, m *rig.Member) float64 {
	t.Helper()
	return metric(ctx, t, m, "go_memstats_heap_inuse_bytes")
}

// metric returns the value of a metric without labels.
func metric(ctx context.Context, t *testing.T, m *rig.Member, name string) float64 {
	t.Helper()
	_, body, err := m.Fetch(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// lags are how long after its write each event came, in arbitrary order.
type lags struct {
	mu  sync.Mutex // guards all
	all []time.Duration
}

func (l *lags) add(some []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, some...)
}

// at returns the lag that a share of the events did not exceed.
func (l *lags) at(share float64) time.Duration {
	slices.Sort(l.all)
	return l.all[min(len(l.all)-1, int(share*float64(len(l.all))))]
}

// listen opens a watch of one key and says so, reads writes events and returns the lag of each. A value is the time of its
// write.
func listen(ctx context.Context, c *client, opened func(), writes int) ([]time.Duration, error) {
	stream, err := c.Watch(ctx, &tenurev1.WatchRequest{Keys: []string{"fan"}})
	if err != nil {
		return nil, err
	}
	if _, err = stream.Recv(); err != nil {
		return nil, err
	}
	opened()
	var out []time.Duration
	for len(out) < writes {
		r, err := stream.Recv()
		if err != nil {
			return out, err
		}
		now := time.Now()
		for _, e := range r.GetEvents().GetEvents() {
			if v := e.GetKv().GetVersion(); v != uint64(len(out)+1) {
				return out, fmt.Errorf("got version %d, want %d", v, len(out)+1)
			}
			sent, err := strconv.ParseInt(string(e.GetKv().GetValue()), 10, 64)
			if err != nil {
				return out, err
			}
			out = append(out, now.Sub(time.Unix(0, sent)))
		}
	}
	return out, nil
}

// TestManyWatchersOfOneKey lets many watch one key over at most a hundred connections, and writes it ten times a second.
// Everybody has every write; in the long form within five seconds of the last.
func TestManyWatchersOfOneKey(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	watchers, writes := scaled(500, 10_000), scaled(30, 300)
	m := rig.Start(ctx, t, binary)
	clients := make([]*client, scaled(5, 100))
	for i := range clients {
		clients[i] = connect(m)
		defer clients[i].close()
		clients[i].status(ctx, t)
	}
	before := heap(ctx, t, m)
	var open, done sync.WaitGroup
	all := &lags{}
	open.Add(watchers)
	for i := range watchers {
		done.Go(func() {
			opened := sync.OnceFunc(open.Done)
			defer opened()
			got, err := listen(ctx, clients[i%len(clients)], opened, writes)
			if err != nil {
				t.Errorf("watcher %d, after %d of %d events: %v", i, len(got), writes, err)
			}
			all.add(got)
		})
	}
	open.Wait()
	idle := (heap(ctx, t, m) - before) / float64(watchers)
	tick := time.NewTicker(fanoutWriteInterval)
	defer tick.Stop()
	for range writes {
		<-tick.C
		value := text(strconv.FormatInt(time.Now().UnixNano(), 10))
		if _, err := clients[0].Put(ctx, &tenurev1.PutRequest{Key: "fan", Content: value}); err != nil {
			t.Fatal(err)
		}
	}
	last := time.Now()
	done.Wait()
	took := time.Since(last)
	if len(all.all) != watchers*writes {
		t.Fatalf("got %d events, want %d", len(all.all), watchers*writes)
	}
	t.Logf("%d watchers over %d connections, %d writes: all delivered %v after the last write; lag p50 %v, p99 %v, largest %v; about %.0f bytes of heap an idle watcher",
		watchers, len(clients), writes, took, all.at(0.5), all.at(0.99), all.at(1), idle)
	if grace := time.Duration(scaled(int(fanoutBusyGrace), int(fanoutGrace))); took > grace {
		t.Errorf("the last event came %v after the last write, want at most %v", took, grace)
	}
}
