package proof_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// waitersEndEvery is which share of the waiters loses its session: one in ten.
	waitersEndEvery = 10
	// waitersPerConn keeps the streams below what one connection may have open.
	waitersPerConn = 500
	queueKey       = "proof/queue"
)

// waiter is one place in the queue. Its fields belong to the goroutine that works on the waiter.
type waiter struct {
	session, owner string
	leaves         bool // its session ends
	place          uint64
	stream         grpc.ServerStreamingClient[tenurev1.AcquireLockResponse]
}

func (w *waiter) options() *tenurev1.CallOptions { return &tenurev1.CallOptions{Owner: w.owner} }

// join queues a waiter, or finds its place again, and returns the number of the place.
func (w *waiter) join(ctx context.Context, c *client) (uint64, error) {
	stream, err := c.AcquireLock(ctx, &tenurev1.AcquireLockRequest{
		Key: queueKey, SessionId: w.session, Options: w.options(),
	})
	if err != nil {
		return 0, err
	}
	w.stream = stream
	step, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	if step.GetQueued() == nil {
		return 0, fmt.Errorf("waiter %s of %s: got %v, want a place", w.owner, w.session, step)
	}
	return step.GetQueued().GetPlace().GetPlace(), nil
}

// granted waits until the waiter holds, and returns its hold.
func (w *waiter) granted() (*tenurev1.Hold, error) {
	for {
		step, err := w.stream.Recv()
		if err != nil {
			return nil, err
		}
		if hold := step.GetGranted(); hold != nil {
			return hold, nil
		}
		if step.GetRejected() != nil {
			return nil, fmt.Errorf("waiter %s of %s: %v", w.owner, w.session, step)
		}
	}
}

// queue is all who wait for one lock.
type queue struct {
	t       *testing.T
	member  *rig.Member
	clients []*client
	waiters []*waiter // by place, after all joined
}

// connectAll opens the connections that the waiters need.
func (q *queue) connectAll() {
	for range (len(q.waiters) + waitersPerConn - 1) / waitersPerConn {
		q.clients = append(q.clients, connect(q.member))
	}
}

func (q *queue) closeAll() {
	for _, c := range q.clients {
		c.close()
	}
	q.clients = nil
}

// each calls work for every waiter in several goroutines.
func (q *queue) each(work func(i int, w *waiter) error) {
	q.t.Helper()
	next := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range next {
				if err := work(i, q.waiters[i]); err != nil {
					q.t.Errorf("waiter %d: %v", i, err)
				}
			}
		})
	}
	for i := range q.waiters {
		next <- i
	}
	close(next)
	wg.Wait()
	if q.t.Failed() {
		q.t.FailNow()
	}
}

// joinAll queues everybody, or, if they have places, lets them find these again.
func (q *queue) joinAll(ctx context.Context) {
	q.t.Helper()
	q.each(func(i int, w *waiter) error {
		place, err := w.join(ctx, q.clients[i%len(q.clients)])
		if err == nil && w.place != 0 && place != w.place {
			return fmt.Errorf("got place %d, want %d back", place, w.place)
		}
		w.place = place
		return err
	})
	slices.SortFunc(q.waiters, func(a, b *waiter) int { return cmp.Compare(a.place, b.place) })
}

// TestWaitersAreGrantedInQueueOrder lets a thousand wait for one lock. Every tenth loses its session, before it is granted
// or while it holds, and the member is killed half way. Whoever is left is granted in the order of the queue, and each
// hand-over is one command: one entry in the log, and one revision.
func TestWaitersAreGrantedInQueueOrder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	q := &queue{t: t, member: rig.Start(ctx, t, binary)}
	defer func() { q.closeAll() }()
	setup := connect(q.member)
	holder := &waiter{session: setup.session(ctx, t, "holder")}
	q.addWaiters(ctx, setup, 1000)
	setup.close()
	q.connectAll()
	first, err := q.clients[0].TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: queueKey, SessionId: holder.session})
	if err != nil || !first.GetAcquired() {
		t.Fatalf("first holder: %v, %v", first, err)
	}
	q.joinAll(ctx)
	left := q.endWaiting(ctx)
	token := first.GetHold().GetSequencer().GetFencingToken()
	half := len(q.waiters) / 2
	rest := q.waiters[half:]
	q.waiters = q.waiters[:half]
	holder, token, counted := q.handOver(ctx, holder, token)
	q.waiters = append([]*waiter{}, rest...)
	q.closeAll()
	q.member.Kill()
	q.member.Restart(ctx)
	q.connectAll()
	q.joinAll(ctx)
	if !slices.Equal(q.waiters, rest) {
		t.Fatal("the order of the queue is another one after the restart")
	}
	left += q.endWaiting(ctx)
	_, _, more := q.handOver(ctx, holder, token)
	counted.add(more)
	t.Logf("%d hand-overs, %d log entries, %d revisions; %d waiters left, %d holders ended",
		counted.handOvers, counted.entries, counted.revisions, left, counted.ended)
	if counted.entries != counted.handOvers || counted.revisions != counted.handOvers {
		t.Errorf("got %d entries and %d revisions for %d hand-overs, want one of each for each",
			counted.entries, counted.revisions, counted.handOvers)
	}
	if left+counted.handOvers != 1000 || left < 50 || counted.ended < 10 {
		t.Errorf("got %d left, %d hand-overs, %d holders ended; want 1000 in all, at least 50 and 10 ended",
			left, counted.handOvers, counted.ended)
	}
}

// addWaiters makes n waiters: every tenth with a session of its own, the others a hundred to a session.
func (q *queue) addWaiters(ctx context.Context, c *client, n int) {
	q.t.Helper()
	shared := ""
	for i := range n {
		w := &waiter{owner: fmt.Sprint("w", i), leaves: i%waitersEndEvery == waitersEndEvery-1}
		if i%100 == 0 {
			shared = c.session(ctx, q.t, fmt.Sprint("s", i))
		}
		w.session = shared
		if w.leaves {
			w.session = c.session(ctx, q.t, "leaves")
		}
		q.waiters = append(q.waiters, w)
	}
}

// endWaiting ends two thirds of the sessions that are to end, of waiters in the first half of the queue, and returns how
// many. The others end as holders.
func (q *queue) endWaiting(ctx context.Context) int {
	q.t.Helper()
	kept := q.waiters[:0:0]
	ended := 0
	seen := 0
	for i, w := range q.waiters {
		if w.leaves {
			seen++
		}
		if !w.leaves || seen%3 == 0 {
			kept = append(kept, w)
			continue
		}
		_, err := q.clients[i%len(q.clients)].DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: w.session})
		if err != nil {
			q.t.Fatalf("end the session of a waiter: %v", err)
		}
		if _, err = w.granted(); err == nil {
			q.t.Fatal("a waiter was granted after its session ended")
		}
		ended++
	}
	q.waiters = kept
	return ended
}

// handOvers counts what hand-overs cost.
type handOvers struct{ handOvers, entries, revisions, ended int }

func (h *handOvers) add(o handOvers) {
	h.handOvers += o.handOvers
	h.entries += o.entries
	h.revisions += o.revisions
	h.ended += o.ended
}

// handOver lets the holder go and the next one in the queue hold, until the last of q.waiters holds.
func (q *queue) handOver(ctx context.Context, holder *waiter, token uint64) (*waiter, uint64, handOvers) {
	q.t.Helper()
	c := q.clients[0]
	before := c.status(ctx, q.t)
	n := handOvers{handOvers: len(q.waiters)}
	for i, next := range q.waiters {
		var err error
		if holder.leaves {
			_, err = c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: holder.session})
			n.ended++
		} else {
			_, err = c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: queueKey, SessionId: holder.session, Options: holder.options()})
		}
		if err != nil {
			q.t.Fatalf("hand-over %d: %v", i, err)
		}
		hold, err := next.granted()
		if err != nil {
			q.t.Fatalf("hand-over %d: %v", i, err)
		}
		if s := hold.GetSequencer(); s.GetSessionId() != next.session || hold.GetOwner() != next.owner || s.GetFencingToken() <= token {
			q.t.Fatalf("hand-over %d: got %v, want owner %s of %s and a token after %d", i, hold, next.owner, next.session, token)
		}
		holder, token = next, hold.GetSequencer().GetFencingToken()
		check, err := c.CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{
			Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: hold.GetSequencer()},
		})
		if err != nil || !check.GetHolds() || check.GetLock().GetHolders() != 1 {
			q.t.Fatalf("hand-over %d: got %v, %v; want that it alone holds", i, check, err)
		}
	}
	after := c.status(ctx, q.t)
	n.entries = int(after.GetLastIndex() - before.GetLastIndex())
	n.revisions = int(after.GetHeader().GetRevision() - before.GetHeader().GetRevision())
	return holder, token, n
}
