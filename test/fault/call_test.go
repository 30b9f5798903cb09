package fault_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// patience is how long a client waits for one answer.
	patience = 3 * time.Second
	// curedWithin is for how long a call that may be repeated is: what is broken in these tests is whole again before. It is a
	// time and not a number of attempts, because those at a member that is starting again fail at once.
	curedWithin = time.Minute
)

// recorder writes down what clients see.
type recorder struct {
	began time.Time

	mu      sync.Mutex // guards what follows
	history check.History
	ids     int
	// lastWrite is when the last change of anybody was acknowledged, longestPause the longest time without one.
	lastWrite, longestPause time.Duration
	// uncured are outcomes that no retry cured.
	uncured []string

	acknowledged atomic.Int64
	// retried are the puts and transactions that were acknowledged after more than one attempt.
	retried atomic.Int64
}

func newRecorder() *recorder { return &recorder{began: time.Now()} }

func (r *recorder) now() time.Duration { return time.Since(r.began) }

// done takes an operation when its outcome is settled.
func (r *recorder) done(op *check.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	op.ID = r.ids
	r.history.Ops = append(r.history.Ops, op)
	if op.Outcome == check.OK && op.Changed {
		r.acknowledged.Add(1)
		if op.Attempts > 1 && (op.Kind == check.KindPut || op.Kind == check.KindTxn) {
			r.retried.Add(1)
		}
		at := time.Duration(op.Return)
		if r.lastWrite != 0 {
			r.longestPause = max(r.longestPause, at-r.lastWrite)
		}
		r.lastWrite = max(r.lastWrite, at)
	}
}

func (r *recorder) believes(b check.Belief) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Beliefs = append(r.history.Beliefs, &b)
}

// caller is one client's connections to all members.
type caller struct {
	rec      *recorder
	name     string
	rng      *rand.Rand
	patience time.Duration
	mu       sync.Mutex // guards conns and at: a session's renewals run beside its calls
	conns    map[string]*grpc.ClientConn
	at       []string
	next     int
}

func newCaller(t *testing.T, rec *recorder, name string, seed uint64, members []*rig.Member) *caller {
	t.Helper()
	c := &caller{rec: rec, name: name, rng: rand.New(rand.NewPCG(seed, 1)), conns: map[string]*grpc.ClientConn{}, patience: patience}
	c.follow(members)
	t.Cleanup(func() {
		for _, conn := range c.conns {
			_ = conn.Close()
		}
	})
	return c
}

// follow changes the members that the client knows.
func (c *caller) follow(members []*rig.Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = nil
	for _, m := range members {
		address := m.Addresses.GRPC
		c.at = append(c.at, address)
		if c.conns[address] == nil {
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnects()}))
			if err != nil {
				panic(err)
			}
			c.conns[address] = conn
		}
	}
	c.next = rand.IntN(len(c.at)) // Not rng, which is the client's own goroutine's.
}

// reconnects is how soon a client connects again to a member that was away: within a second.
func reconnects() backoff.Config {
	b := backoff.DefaultConfig
	b.BaseDelay, b.MaxDelay = 200*time.Millisecond, time.Second
	return b
}

func (c *caller) conn(advance bool) *grpc.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if advance {
		c.next++
	}
	return c.conns[c.at[c.next%len(c.at)]]
}

// said is what an error says.
type said struct {
	reason  string // lower case; empty when no member said anything
	applied string
	facts   map[string]string
}

func read(err error) said {
	info := rig.ErrorInfo(err)
	if info == nil {
		return said{applied: "unknown"}
	}
	return said{strings.ToLower(info.GetReason()), info.GetMetadata()["applied"], info.GetMetadata()}
}

func (s said) number(name string) uint64 {
	n, _ := strconv.ParseUint(s.facts[name], 10, 64)
	return n
}

// passing reports whether another attempt may end better.
func (s said) passing() bool {
	switch s.reason {
	case "", "no_leader", "not_leader", "stopping", "outcome_unknown", "too_many_requests", "deadline_exceeded", "cancelled":
		return true
	default:
		return false
	}
}

// call makes an operation and writes down how it ended. Once a request may have been sent it is only sent again if it
// is repeatable; every attempt is the same request. It returns the error that settled it.
func (c *caller) call(ctx context.Context, op *check.Op, repeatable bool, attempt func(context.Context, *grpc.ClientConn) error) error {
	op.Client, op.Call = c.name, int64(c.rec.now())
	unknown := false
	var err error
	var last said
	for c.rec.now()-time.Duration(op.Call) < curedWithin && ctx.Err() == nil {
		op.Attempts++
		tryCtx, cancel := context.WithTimeout(ctx, c.patience)
		err = attempt(tryCtx, c.conn(op.Attempts > 1))
		cancel()
		op.Return = int64(c.rec.now())
		if err == nil {
			op.Outcome = check.OK
			c.rec.done(op)
			return nil
		}
		last = read(err)
		if last.applied != "no" {
			unknown = true
		}
		if !last.passing() {
			break
		}
		if unknown && !repeatable {
			break
		}
		c.pause(ctx, op.Attempts)
	}
	op.Reason = last.reason
	switch {
	case last.passing() && unknown, last.applied == "unknown":
		op.Outcome, op.Return = check.Unknown, 0
	default:
		op.Outcome = check.Refused
	}
	if repeatable && last.passing() && ctx.Err() == nil {
		c.rec.mu.Lock()
		c.rec.uncured = append(c.rec.uncured, string(op.Kind)+" by "+c.name+": "+err.Error())
		c.rec.mu.Unlock()
	}
	c.rec.done(op)
	return err
}

// persist makes a call that may be repeated again and again until it succeeds or no attempt can, and returns how it ended.
func (c *caller) persist(ctx context.Context, attempt func(context.Context, *grpc.ClientConn) error) error {
	until := c.rec.now() + curedWithin
	for n := 0; ; n++ {
		call, cancel := context.WithTimeout(ctx, c.patience)
		err := attempt(call, c.conn(n > 0))
		cancel()
		if err == nil || !read(err).passing() || c.rec.now() > until || ctx.Err() != nil {
			return err
		}
		c.pause(ctx, n)
	}
}

// pause waits a moment that grows with the attempts, with full jitter.
func (c *caller) pause(ctx context.Context, n int) {
	most := min(500*time.Millisecond, 10*time.Millisecond<<min(n, 6))
	wait(ctx, rand.N(most))
}

// wait lets time pass, which is what clients do between their calls.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
