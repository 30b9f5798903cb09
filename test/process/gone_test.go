package process_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	goneWriters = 8
	// goneStays is for how long a leader stays before it is killed: ten election time-outs, so that the others do not pause.
	goneStays = 10500 * time.Millisecond
)

// goneKills is how many leaders are killed: TENURE_LEADER_KILLS, or 1.
func goneKills() int {
	if n, err := strconv.Atoi(os.Getenv("TENURE_LEADER_KILLS")); err == nil && n > 0 {
		return n
	}
	return 1
}

// successes are the times at which writers had one.
type successes struct {
	mu    sync.Mutex    // guards what follows
	asked time.Time     // the write has to begin after this; zero if nobody waits
	took  time.Duration // from the fault to the success
	fault time.Time
	done  chan struct{} // closed with the success
}

func (s *successes) note(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && began.After(s.asked) {
		s.took, s.asked = time.Since(s.fault), time.Time{}
		close(s.done)
	}
}

// after waits for the success of a write that begins from now on, and returns how long after a fault that is.
func (s *successes) after(t *testing.T, fault time.Time) time.Duration {
	t.Helper()
	s.mu.Lock()
	s.asked, s.fault, s.done = time.Now(), fault, make(chan struct{})
	done := s.done
	s.mu.Unlock()
	select {
	case <-done:
	case <-time.After(writesTime):
		t.Fatalf("no write succeeded for %v", writesTime)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// A leader whose process is killed is replaced without waiting for the election time-out, and one that falls silent is not
// taken for killed. The median and the longest time to the next success of clients are printed, never judged: machines stand
// still.
func TestAKilledLeaderIsReplacedEarly(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	s := write(ctx, t, c)
	var took []time.Duration
	for i := range goneKills() {
		if i > 0 {
			stay(t)
		}
		lead := c.Leader(ctx)
		before := counted(ctx, t, c, lead, "tenure_raft_early_elections_total")
		fault := time.Now()
		lead.Kill()
		took = append(took, s.after(t, fault))
		if after := counted(ctx, t, c, lead, "tenure_raft_early_elections_total"); i == 0 && after <= before {
			t.Errorf("%v early elections after a leader was killed, before it were %v", after, before)
		}
		lead.Restart(ctx)
	}
	slices.Sort(took)
	t.Logf("%d leaders killed: the next success came after %v, at most %v; all: %v", len(took), took[len(took)/2], took[len(took)-1], took)

	// Silence is another matter.
	lead := c.Leader(ctx)
	before := counted(ctx, t, c, lead, "tenure_raft_leaders_gone_total")
	lead.Pause()
	t.Logf("a leader stopped: the next success came after %v", s.after(t, time.Now()))
	if after := counted(ctx, t, c, lead, "tenure_raft_leaders_gone_total"); after != before {
		t.Errorf("a leader that was stopped counts as gone: %v, before %v", after, before)
	}
	lead.Resume()
}

func stay(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(goneStays)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// write has clients of all members write until the test ends.
func write(ctx context.Context, t *testing.T, c *rig.Cluster) *successes {
	t.Helper()
	s := &successes{}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for i := range goneWriters {
		client, err := tenure.Open("tenure://"+strings.Join(c.Endpoints(), ",")+"/gone", tenure.WithInsecure())
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer func() { _ = client.Close() }()
			for ctx.Err() == nil {
				began := time.Now()
				call, end := context.WithTimeout(ctx, time.Minute)
				if _, err := client.KV().Put(call, fmt.Sprintf("k%d", i), []byte("v")); err == nil {
					s.note(began)
				}
				end()
			}
		})
	}
	return s
}

// counted returns the sum of a counter over the running members but one.
func counted(ctx context.Context, t *testing.T, c *rig.Cluster, but *rig.Member, name string) (sum float64) {
	t.Helper()
	for _, m := range c.Running() {
		if m == but {
			continue
		}
		_, body, err := m.Fetch(ctx, "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(body)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}
