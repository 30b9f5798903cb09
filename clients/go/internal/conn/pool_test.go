package conn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRefused = errors.New("refused")

// refuse is a Dial to members that refuse.
func refuse(context.Context, string) (conn.Transport, error) { return nil, errRefused }

// run gives life to a pool of three members, and returns what ends it.
func run(dial conn.Dial) (p *conn.Pool, end func()) {
	p = conn.New(conn.Options{Members: []string{"a:1", "b:1", "c:1"}, Dial: dial, TTL: time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	return p, func() { cancel(); running.Wait() }
}

func TestWhatAnErrorTellsDoesNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := run(refuse)
		defer end()
		waiting, cancel := context.WithCancel(t.Context())
		var waiter sync.WaitGroup
		waiter.Go(func() { _, _ = p.Get(waiting) }) // So that the pool goes on.
		defer func() { cancel(); waiter.Wait() }()
		var told []error
		var texts []string
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Millisecond)
			_, err := p.Get(ctx)
			cancel()
			told, texts = append(told, err), append(texts, err.Error())
		}
		<-time.After(time.Minute)
		for i, err := range told {
			if got := err.Error(); got != texts[i] {
				t.Fatalf("error %d was %q, and is %q", i, texts[i], got)
			}
		}
	})
}

func TestErrorsAreReadWhileThePoolGoesOn(t *testing.T) {
	p, end := run(refuse)
	defer end()
	waiting, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _, _ = p.Get(waiting) })
	var getting sync.WaitGroup
	for range 50 {
		getting.Go(func() {
			for range 20 {
				ctx, done := context.WithTimeout(waiting, 5*time.Millisecond)
				if _, err := p.Get(ctx); err == nil || err.Error() == "" {
					t.Errorf("got %v", err)
				}
				done()
			}
		})
	}
	getting.Wait()
	cancel()
	running.Wait()
}

// stalling is a context whose user stalls before he waits for it.
type stalling struct {
	context.Context

	once    sync.Once
	stalled chan struct{}
	goOn    chan struct{}
}

func (s *stalling) Done() <-chan struct{} {
	s.once.Do(func() { close(s.stalled); <-s.goOn })
	return s.Context.Done()
}

// silent is a connection on which nothing happens.
type silent struct {
	grpc.ClientConnInterface

	broken chan struct{}
	once   sync.Once
}

func (s *silent) Broken() <-chan struct{} { return s.broken }

func (*silent) Heard() uint64 { return 0 }

func (*silent) Ping(context.Context) {}

func (*silent) Streams(context.Context) int { return conn.LineStreamsMax }

func (s *silent) Close() error {
	s.once.Do(func() { close(s.broken) })
	return nil
}

func TestWhoWakesAfterAMemberCameAndWentIsToldWhyThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		p, end := run(func(ctx context.Context, address string) (conn.Transport, error) {
			if dials++; dials == 4 { // After a round over all.
				return &silent{broken: make(chan struct{})}, nil
			}
			return refuse(ctx, address)
		})
		defer end()
		ctx := &stalling{Context: t.Context(), stalled: make(chan struct{}), goOn: make(chan struct{})}
		result := make(chan error, 1)
		go func() {
			_, err := p.GetNow(ctx)
			result <- err
		}()
		<-ctx.stalled
		link, err := p.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		link.Fail()
		link.Release()
		close(ctx.goOn)
		var unreachable *conn.UnreachableError
		if err := <-result; !errors.As(err, &unreachable) || unreachable == nil {
			t.Fatalf("got %#v, want why no member could be reached", err)
		}
	})
}

func TestMembersThatAnswerSlowlyAreReachedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, end := run(func(ctx context.Context, _ string) (conn.Transport, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second): // Four times as long as the first attempts last.
				return idle{}, nil
			}
		})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		link, err := p.Get(ctx)
		if err != nil {
			t.Fatal(err)
		}
		link.Release()
	})
}

// idle is a connection over which nothing is called.
type idle struct{ conn.Transport }

func (idle) Broken() <-chan struct{} { return nil }

func (idle) Streams(context.Context) int { return conn.LineStreamsMax }

func (idle) Close() error { return nil }
