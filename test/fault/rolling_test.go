package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// steadyTTL is the TTL of sessions that must live.
const steadyTTL = 6 * time.Second

// steady is a session with a lock, which must live and hold through everything.
type steady struct {
	c       *caller
	id, key string
	token   uint64
	renewed atomic.Int64
	refused atomic.Pointer[string]
}

// holdSteady opens a session, takes a lock with it, and renews it until ctx ends.
func holdSteady(ctx context.Context, t *testing.T, c *caller, n int, working *sync.WaitGroup) *steady {
	t.Helper()
	s := &steady{c: c, key: fmt.Sprintf("steady%d", n)}
	var got *tenurev1.TryAcquireLockResponse
	err := c.persist(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		created, err := tenurev1.NewSessionServiceClient(conn).CreateSession(ctx,
			&tenurev1.CreateSessionRequest{Name: s.key, Ttl: durationpb.New(steadyTTL)})
		s.id = created.GetSessionId()
		return err
	})
	if err == nil {
		err = c.persist(ctx, func(ctx context.Context, conn *grpc.ClientConn) (err error) {
			got, err = tenurev1.NewLockServiceClient(conn).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: s.key, SessionId: s.id})
			return err
		})
	}
	if err != nil || !got.GetAcquired() {
		t.Fatalf("acquire: %v %v", got, err)
	}
	s.token = got.GetHold().GetSequencer().GetFencingToken()
	working.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			s.renew(ctx, n)
			wait(ctx, 300*time.Millisecond)
		}
	})
	return s
}

func (s *steady) renew(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, steadyTTL/3)
	defer cancel()
	_, err := tenurev1.NewSessionServiceClient(s.c.conn(n > 0)).RenewSession(ctx,
		&tenurev1.RenewSessionRequest{SessionId: s.id})
	switch {
	case err == nil:
		s.renewed.Add(1)
	case !read(err).passing():
		s.refused.Store(new(err.Error()))
	}
}

// verify demands that the session lives and holds what it held.
func (s *steady) verify(ctx context.Context, t *testing.T) {
	t.Helper()
	if why := s.refused.Load(); why != nil {
		t.Errorf("%s: a renewal was refused: %s", s.key, *why)
	}
	var got *tenurev1.GetLockResponse
	err := s.c.persist(ctx, func(ctx context.Context, conn *grpc.ClientConn) (err error) {
		got, err = tenurev1.NewLockServiceClient(conn).GetLock(ctx, &tenurev1.GetLockRequest{Key: s.key})
		return err
	})
	holds := got.GetLock().GetHolds()
	if err != nil || len(holds) != 1 || holds[0].GetSequencer().GetFencingToken() != s.token {
		t.Errorf("%s: got %v %v, want the hold with token %d", s.key, holds, err, s.token)
	}
}

// follower is a watch that must miss nothing while members come and go.
type follower struct {
	c    *caller
	next map[string]int // the next number of each writer
	err  error
	got  atomic.Int64
}

// watchNumbers follows the keys "n/…" whose writers count, and notes what is out of order.
func watchNumbers(ctx context.Context, c *caller, working *sync.WaitGroup) *follower {
	f := &follower{c: c, next: map[string]int{}}
	began := make(chan struct{})
	working.Go(func() {
		token, once := "", sync.OnceFunc(func() { close(began) })
		for n := 0; ctx.Err() == nil && f.err == nil; n++ {
			stream, err := tenurev1.NewWatchServiceClient(c.conn(n > 0)).Watch(ctx,
				&tenurev1.WatchRequest{Prefixes: []string{"n/"}, ResumeToken: token})
			for err == nil {
				var m *tenurev1.WatchResponse
				if m, err = stream.Recv(); err != nil {
					break
				}
				once()
				token = m.GetResumeToken()
				f.take(m.GetEvents().GetEvents())
			}
			if s := read(err); !s.passing() && !errors.Is(err, io.EOF) && status.Code(err) != codes.Canceled {
				f.err = err
			}
			c.pause(ctx, 2)
		}
	})
	select {
	case <-began:
	case <-ctx.Done():
	}
	return f
}

func (f *follower) take(events []*tenurev1.Event) {
	for _, e := range events {
		var n int
		if _, err := fmt.Sscan(string(e.GetKv().GetValue()), &n); err != nil {
			f.err = fmt.Errorf("event %v: %w", e, err)
			return
		}
		if want := f.next[e.GetKey()]; n != want {
			f.err = fmt.Errorf("revision %d: %s is %d, want %d", e.GetRevision(), e.GetKey(), n, want)
			return
		}
		f.next[e.GetKey()]++
		f.got.Add(1)
	}
}

// countUp writes the numbers from 0 to a key of its own, each exactly once, until ctx ends. It returns the number after
// the last that was acknowledged.
func countUp(ctx context.Context, c *caller, key string) int {
	for n := 0; ; {
		options, _ := c.identity()
		if options == nil {
			continue
		}
		err := c.persist(context.WithoutCancel(ctx), func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{
				Key: key, Content: &tenurev1.PutRequest_Text{Text: fmt.Sprint(n)}, Options: options,
			})
			return err
		})
		if err != nil {
			panic(fmt.Sprintf("put %s=%d: %v", key, n, err))
		}
		n++
		if ctx.Err() != nil {
			return n
		}
		wait(ctx, 5*time.Millisecond)
	}
}

// patient is everything that must live through planned work on a cluster.
type patient struct {
	steadies []*steady
	follower *follower
	written  sync.Map // key → numbers acknowledged
	callers  []*caller
	stop     func()
	stopRead func()
}

func startPatient(t *testing.T, rec *recorder, members []*rig.Member) *patient {
	t.Helper()
	p := &patient{}
	reading, stopRead := context.WithCancel(t.Context())
	writing, stopWrite := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	caller := func(name string, seed uint64) *caller {
		c := newCaller(t, rec, name, seed, members)
		p.callers = append(p.callers, c)
		return c
	}
	p.follower = watchNumbers(reading, caller("follower", 7_000), &readers)
	for i := range 8 {
		p.steadies = append(p.steadies, holdSteady(reading, t, caller(fmt.Sprint("steady", i), uint64(7_100+i)), i, &readers))
		key := fmt.Sprintf("n/%d", i)
		c := caller(key, uint64(7_200+i))
		writers.Go(func() { p.written.Store(key, countUp(writing, c, key)) })
	}
	p.stop = func() { stopWrite(); writers.Wait() }
	p.stopRead = func() { stopRead(); readers.Wait() }
	t.Cleanup(func() { p.stop(); p.stopRead() })
	return p
}

// end stops the writers, waits until the watch has everything, and demands that nothing was lost.
func (p *patient) end(ctx context.Context, t *testing.T) {
	t.Helper()
	p.stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	want := 0
	p.written.Range(func(_, n any) bool { number, _ := n.(int); want += number; return true })
	for ctx.Err() == nil && p.follower.got.Load() < int64(want) {
		wait(ctx, 20*time.Millisecond)
	}
	for _, s := range p.steadies {
		s.verify(ctx, t)
	}
	p.stopRead()
	if got := int(p.follower.got.Load()); p.follower.err != nil || got != want {
		t.Errorf("the watch delivered %d of %d changes: %v", got, want, p.follower.err)
	}
	t.Logf("%d sessions with locks lived on; a watch missed none of %d changes", len(p.steadies), want)
}

// Every member is stopped and started again, one after the other, under load: no session, lock or watch is lost.
func TestRollingRestart(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	w := startCrowd(t, c.Members, 16)
	p := startPatient(t, w.rec, c.Members)
	rounds := 1
	if long {
		rounds = 5
	}
	for range rounds {
		for _, m := range c.Members {
			w.settle(t, 200)
			if err := m.Stop(); err != nil {
				t.Errorf("stop %s: %v", m.Name(), err)
			}
			w.settle(t, 100)
			m.Restart(ctx)
		}
	}
	w.settle(t, 200)
	p.end(ctx, t)
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("%d restarts; the longest pause in writes was %v\n%s", rounds*len(c.Members), w.rec.longestPause.Round(time.Millisecond), report)
	floors(t, report, map[string]int{"linearizable operations": 500, "replay revisions": 500})
}
