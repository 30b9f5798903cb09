package conn_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// counting is a silent connection that tells when it is closed.
type counting struct {
	silent

	open   *atomic.Int64
	closed sync.Once
}

func (c *counting) Close() error {
	c.closed.Do(func() { c.open.Add(-1) })
	return c.silent.Close()
}

// dialed returns a link of a pool whose first `good` connections can be made, and how many are open.
func dialed(t *testing.T, good int64) (link *conn.Link, open *atomic.Int64) {
	t.Helper()
	open = &atomic.Int64{}
	made := &atomic.Int64{}
	p, end := run(func(context.Context, string) (conn.Transport, error) {
		if made.Add(1) > good {
			return nil, errRefused
		}
		open.Add(1)
		return &counting{silent: silent{broken: make(chan struct{})}, open: open}, nil
	})
	link, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		link.Release()
		end()
		if n := open.Load(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
	return link, open
}

// lines gets a line for each of so many streams, all at once.
func lines(t *testing.T, link *conn.Link, n int) []*conn.Line {
	t.Helper()
	all := make([]*conn.Line, n)
	var getting sync.WaitGroup
	for i := range n {
		getting.Go(func() {
			line, err := link.Line(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = line
		})
	}
	getting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

func TestStreamsShareAFewConnections(t *testing.T) {
	link, open := dialed(t, 100)
	all := lines(t, link, 3*conn.LineStreamsMax)
	if n := open.Load(); n != 4 {
		t.Errorf("%d connections, want one for calls and three for streams", n)
	}
	for _, line := range all {
		if line.Transport == link.Transport {
			t.Fatal("a stream is on the connection for calls")
		}
		line.Release()
	}
	if n := open.Load(); n != 2 {
		t.Errorf("%d connections are left when the streams have ended, want one for calls and one for the next stream", n)
	}
}

func TestStreamsAreOnTheFirstConnectionWhereNoOtherCanBeMade(t *testing.T) {
	link, _ := dialed(t, 1)
	all := lines(t, link, conn.LineStreamsMax)
	if line, err := link.Line(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("one stream more gets %v, %v", line, err)
	}
	for _, line := range all {
		line.Release()
	}
}

func TestWhoGoesAwayWhileAConnectionIsMadeLeavesItToTheNext(t *testing.T) {
	dialing, made := make(chan struct{}), &atomic.Int64{}
	p, end := run(func(ctx context.Context, _ string) (conn.Transport, error) {
		if made.Add(1) == 2 {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &silent{broken: make(chan struct{})}, nil
	})
	defer end()
	link, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer link.Release()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := link.Line(ctx)
		left <- err
	}()
	<-dialing
	got := make(chan error, 1)
	go func() {
		line, err := link.Line(t.Context())
		if err == nil {
			line.Release()
		}
		got <- err
	}()
	leave()
	if err := <-left; status.Code(err) != codes.Canceled {
		t.Errorf("who went away got %v", err)
	}
	if err := <-got; err != nil {
		t.Errorf("the next got %v", err)
	}
}

func TestAClosedLinkHasNoLines(t *testing.T) {
	link, _ := dialed(t, 100)
	line, err := link.Line(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	link.Fail()
	<-line.Broken()
	line.Release()
	if _, err := link.Line(t.Context()); status.Code(err) != codes.Unavailable || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
