package server_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs" //nolint:depguard // It makes a disk that stalls, in a test.
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// stallingFS is a file system on which one kind of the state machine's files is not made while the test says so.
type stallingFS struct {
	storage.FS
	kind  vfs.DiskWriteCategory
	waits atomic.Int64 // files that waited

	mu   sync.Mutex    // guards hung
	hung chan struct{} // closed when files are made again; nil while they are
}

// Create lets a file of the kind wait.
func (s *stallingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	s.mu.Lock()
	hung := s.hung
	s.mu.Unlock()
	if hung != nil && category == s.kind && strings.Contains(name, "/sm-") {
		s.waits.Add(1)
		<-hung
	}
	return s.FS.Create(name, category)
}

func (s *stallingFS) hang() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hung := make(chan struct{})
	s.hung = hung
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(hung)
		s.hung = nil
	})
}

const (
	// stallTTL is the TTL of the sessions, stallRenew how often each is renewed.
	stallTTL, stallRenew = 6 * time.Second, 250 * time.Millisecond
	// stallSessions is how many there are at each member.
	stallSessions = 5
	// stallPatience bounds the waits for what must come.
	stallPatience = 4 * time.Minute
)

// The state of a leader stalls, as its disk writes no more files, or merges none: another member leads, and no session that
// renews, through whatever member, ends.
//
// It fills the memory of three stores, so it runs with TENURE_SOAK=1 only; raftnode's TestALeaderWhoseStoreHoldsWritesBackHandsOver
// shows in fake time that the leader hands over.
func TestALeaderWhoseStateStallsEndsNoSession(t *testing.T) {
	if os.Getenv("TENURE_SOAK") != "1" {
		t.Skip("it takes a minute and much memory: TENURE_SOAK=1 runs it")
	}
	for name, kind := range map[string]vfs.DiskWriteCategory{
		"writes hang":          "pebble-memtable-flush",
		"files are not merged": "pebble-compaction",
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // guards disks
			disks := map[string]*stallingFS{}
			c := startCluster(t, 3, func(config *server.Config) {
				mu.Lock()
				defer mu.Unlock()
				config.Tick = 50 * time.Millisecond
				disks[config.Name] = &stallingFS{FS: config.FS, kind: kind}
				config.FS = disks[config.Name]
			})
			old := c.leader(t)
			disk := disks[fmt.Sprintf("m%d", old+1)]
			r := c.renewers(t)
			release := disk.hang()
			t.Cleanup(release)
			stalled, handedOver := c.fillUntilAnotherLeads(t, old)
			t.Logf("%v after the first call waited another member leads", handedOver.Sub(stalled))
			if disk.waits.Load() == 0 {
				t.Error("floor: nothing waited for the disk")
			}
			// Whoever was not renewed since the stall has ended by then.
			r.await(t, time.Now().Add(3*stallTTL/2))
			release()
			r.stop()
			r.check(t, c)
		})
	}
}

// fillUntilAnotherLeads writes until the leader's state stalls and another member leads. It returns when the last write began
// that the old leader acknowledged, and when the next leader acknowledged one.
func (c *cluster) fillUntilAnotherLeads(t *testing.T, old int) (stalled, handedOver time.Time) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stallPatience)
	defer cancel()
	value := &tenurev1.PutRequest_Value{Value: make([]byte, 256<<10)}
	for ctx.Err() == nil {
		began := time.Now()
		call, stop := context.WithTimeout(ctx, time.Second)
		_, err := c.members[old].Put(call, &tenurev1.PutRequest{Key: "fill", Content: value})
		stop()
		if err == nil {
			stalled = began
			continue
		}
		leads, err := c.leads(ctx, (old+1)%len(c.members))
		if name := fmt.Sprintf("m%d", old+1); err != nil || leads == "" || leads == name {
			continue
		}
		handedOver = time.Now()
		st, err := c.members[old].GetStatus(ctx, &tenurev1.GetStatusRequest{})
		if err == nil && hasProblem(st, "write-stall") {
			return stalled, handedOver
		}
		// The machine was too busy for this leader, or its stall is not old enough to be reported: it leads again if it can.
		for _, one := range st.GetMembers() {
			if one.GetName() == fmt.Sprintf("m%d", old+1) {
				_, _ = c.members[old].TransferLeadership(ctx, &tenurev1.TransferLeadershipRequest{MemberId: one.GetId()})
			}
		}
	}
	t.Fatal("no other member leads")
	return stalled, handedOver
}

// leads returns the name of the leader that a member knows.
func (c *cluster) leads(ctx context.Context, member int) (string, error) {
	st, err := c.members[member].GetStatus(ctx, &tenurev1.GetStatusRequest{})
	return st.GetLeader(), err
}

// renewer renews one session, each time without waiting for the last answer.
type renewer struct {
	id     string
	member *member
	cancel context.CancelFunc
	done   chan struct{}
	calls  sync.WaitGroup

	mu sync.Mutex // guards what follows
	// gap is the longest time between two renewals, which a machine that is too busy lets grow.
	gap   time.Duration
	acked time.Time // when the last renewal began that was acknowledged
}

type renewers []*renewer

// renewers open sessions through every member, and begin to renew them.
func (c *cluster) renewers(t *testing.T) renewers {
	t.Helper()
	var all renewers
	for _, m := range c.members {
		for range stallSessions {
			s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Ttl: durationpb.New(stallTTL)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			r := &renewer{id: s.GetSessionId(), member: m, cancel: cancel, done: make(chan struct{})}
			go r.run(ctx)
			all = append(all, r)
		}
	}
	t.Cleanup(all.stop)
	return all
}

func (r *renewer) run(ctx context.Context) {
	defer close(r.done)
	defer r.calls.Wait()
	tick := time.NewTicker(stallRenew)
	defer tick.Stop()
	last := time.Now()
	for {
		began := time.Now()
		r.mu.Lock()
		r.gap = max(r.gap, began.Sub(last))
		r.mu.Unlock()
		last = began
		r.calls.Go(func() {
			call, stop := context.WithTimeout(ctx, stallTTL)
			defer stop()
			if _, err := r.member.RenewSession(call, &tenurev1.RenewSessionRequest{SessionId: r.id}); err == nil {
				r.mu.Lock()
				r.acked = later(r.acked, began)
				r.mu.Unlock()
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// await waits until a renewal of every session that began at some time or later was acknowledged, or the session has ended.
func (all renewers) await(t *testing.T, since time.Time) {
	t.Helper()
	deadline := time.Now().Add(stallPatience)
	for _, r := range all {
		for {
			r.mu.Lock()
			acked := r.acked
			r.mu.Unlock()
			if !acked.Before(since) {
				break
			}
			s, err := r.member.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: r.id})
			if err == nil && s.GetSession().GetEnd() != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no renewal of %s is acknowledged", r.id)
			}
			tick := time.NewTimer(stallRenew)
			<-tick.C
		}
	}
}

func (all renewers) stop() {
	for _, r := range all {
		r.cancel()
	}
	for _, r := range all {
		<-r.done
	}
}

// check demands that every session lives that this machine had the time to renew.
func (all renewers) check(t *testing.T, c *cluster) {
	t.Helper()
	for _, r := range all {
		if r.gap > stallTTL/3 {
			t.Logf("%s was not renewed for %v: this machine is too busy to say anything of it", r.id, r.gap)
			continue
		}
		s, err := c.members[c.leader(t)].GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: r.id})
		if err != nil || s.GetSession().GetEnd() != nil {
			t.Errorf("%s: got %v, %v, want that it lives", r.id, s.GetSession().GetEnd(), err)
		}
	}
}
