package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tenure-io/tenure/agent"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// accepting is a cluster that takes all that the agent says.
type accepting struct{ tenurev1.CatalogServiceClient }

func (accepting) GetNode(context.Context, *tenurev1.GetNodeRequest, ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	return nil, refusal(codes.NotFound, "NODE_NOT_FOUND", nil)
}

func (accepting) SyncNode(context.Context, *tenurev1.SyncNodeRequest, ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	return &tenurev1.SyncNodeResponse{}, nil
}

// restless is a cluster that takes all, and has another change made during each call.
type restless struct {
	accepting

	mu       sync.Mutex
	statuses map[string]tenurev1.CheckStatus
	during   func()
}

func (c *restless) SyncNode(_ context.Context, r *tenurev1.SyncNodeRequest, _ ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range r.GetChecks() {
		c.statuses[k.GetCheckId()] = k.GetStatus()
	}
	c.during()
	return &tenurev1.SyncNodeResponse{}, nil
}

// Whoever reports waits until the catalog has that report, and not for those that others make all the time.
func TestAReportIsWaitedForAndNoLaterOne(t *testing.T) {
	c := &restless{statuses: map[string]tenurev1.CheckStatus{}, during: func() {}}
	a := reporting(t, 2, c)
	flipping := tenurev1.CheckStatus_CHECK_STATUS_PASSING
	flip := func(id string) tenurev1.CheckStatus {
		flipping = tenurev1.CheckStatus_CHECK_STATUS_PASSING + tenurev1.CheckStatus_CHECK_STATUS_WARNING - flipping
		if _, err := a.ReportCheck(t.Context(), &tenurev1.ReportCheckRequest{CheckId: id, Status: flipping}); err != nil {
			t.Error(err)
		}
		return flipping
	}
	c.mu.Lock()
	c.during = func() { flip("c1") }
	c.mu.Unlock()
	for range 20 {
		c.mu.Lock()
		want := flip("c0")
		c.mu.Unlock()
		waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
		a.Settled(waiting)
		if waiting.Err() != nil {
			t.Fatal("it waited for later reports")
		}
		cancel()
		c.mu.Lock()
		if got := c.statuses["c0"]; got != want {
			t.Errorf("the catalog has %v after the wait, want %v", got, want)
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.during = func() {}
	c.mu.Unlock()
}

// reporting runs an agent with n services that have a TTL check each, which the catalog has, and returns the client inside its process.
func reporting(t testing.TB, n int, cluster tenurev1.CatalogServiceClient) *agent.Local {
	t.Helper()
	var text strings.Builder
	text.WriteString("services:\n")
	for i := range n {
		fmt.Fprintf(&text, "- {name: web, id: s%d, checks: [{id: c%d, ttl: 1h}]}\n", i, i)
	}
	o := options(folder(t, map[string]string{"a.yaml": text.String()}))
	o.Catalog = cluster
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-a.Ready()
	a.Local().Settled(t.Context())
	return a.Local()
}

// A question for an agent's name, or whether the catalog is like it, costs the same however much it has.
func TestAskingAnAgentCostsTheSameHoweverMuchIsRegistered(t *testing.T) {
	costs := func(n int) (settled, name float64) {
		a := reporting(t, n, accepting{})
		settled = testing.AllocsPerRun(10, func() { a.Settled(t.Context()) })
		name = testing.AllocsPerRun(10, func() {
			if got, err := a.GetAgent(t.Context(), &tenurev1.GetAgentRequest{}); err != nil || int(got.GetChecks()) != n {
				t.Errorf("got %v and %v, want %d checks", got, err, n)
			}
		})
		return settled, name
	}
	fewSettled, fewName := costs(10)
	manySettled, manyName := costs(1_000)
	if manySettled > fewSettled+100 {
		t.Errorf("Settled: got %v allocations with 1000 services, and %v with 10", manySettled, fewSettled)
	}
	if manyName > fewName+100 {
		t.Errorf("GetAgent: got %v allocations with 1000 services, and %v with 10", manyName, fewName)
	}
}

// BenchmarkReport has eight clients report, each of whom waits until the catalog has its report.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := reporting(b, n, accepting{})
			b.SetParallelism(4)
			next := make(chan int, 8)
			for i := range cap(next) {
				next <- i
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				id, status := fmt.Sprint("c", <-next), tenurev1.CheckStatus_CHECK_STATUS_PASSING
				for pb.Next() {
					status = tenurev1.CheckStatus_CHECK_STATUS_PASSING + tenurev1.CheckStatus_CHECK_STATUS_WARNING - status
					if _, err := a.ReportCheck(b.Context(), &tenurev1.ReportCheckRequest{CheckId: id, Status: status}); err != nil {
						b.Error(err)
					}
					a.Settled(b.Context())
				}
			})
		})
	}
}

// BenchmarkSettled asks an agent whether the catalog is like it.
func BenchmarkSettled(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := reporting(b, n, accepting{})
			for b.Loop() {
				a.Settled(b.Context())
			}
		})
	}
}
