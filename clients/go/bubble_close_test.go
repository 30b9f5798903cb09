package tenure_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// closings returns how often each test of this file closes: in the long form many times.
func closings() int {
	if os.Getenv("TENURE_SOAK") == "1" {
		return 1000
	}
	return 10
}

// closers are what ends a session, or all of a client.
var closers = map[string]func(b *bubble){
	"Session.Close":  func(b *bubble) { _ = b.session.Close() },
	"Session.Detach": func(b *bubble) { b.session.Detach() },
	"Session.Export": func(b *bubble) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // For where no member answers.
		defer cancel()
		_, _ = b.session.Export(ctx)
	},
	"Client.Close": func(b *bubble) { _ = b.client.Close() },
}

// callbacks run a function of the program's, once at least, from a goroutine of their own if they have to wait.
var callbacks = map[string]func(t *testing.T, b *bubble, f func()){
	"a listener, when the session is CONNECTED": func(_ *testing.T, b *bubble, f func()) { onState(b, tenure.StateConnected, f) },
	"a listener, when the session is SUSPENDED": func(_ *testing.T, b *bubble, f func()) {
		onState(b, tenure.StateSuspended, f)
		b.each(func(m *fakeMember) { m.Refuse(true) })
	},
	"a listener, when the session is in JEOPARDY": func(_ *testing.T, b *bubble, f func()) {
		onState(b, tenure.StateJeopardy, f)
		b.each(func(m *fakeMember) { m.Refuse(true) })
	},
	"a listener, when the cluster has ended the session": func(_ *testing.T, b *bubble, f func()) {
		onState(b, tenure.StateClosed, f)
		b.mu.Lock()
		delete(b.sessions, b.session.ID())
		b.mu.Unlock()
	},
	"a listener, when another one closes the session": func(_ *testing.T, b *bubble, f func()) {
		onState(b, tenure.StateClosed, f)
		onState(b, tenure.StateConnected, func() { _ = b.session.Close() })
	},
	"the function that is told of renewals": func(t *testing.T, b *bubble, f func()) {
		opened := make(chan struct{})
		other, err := b.client.OpenSession(t.Context(), tenure.WithRenewedFunc(func() { <-opened; f() }))
		if err != nil {
			t.Error(err)
			return
		}
		_ = b.session.Close()
		b.session = other
		close(opened)
	},
	"the function that is told of a place in a queue": func(t *testing.T, b *bubble, f func()) {
		b.acquire(t, "busy")
		go func() {
			_, _ = b.session.Lock("busy", tenure.WithQueuedFunc(func(tenure.Queued) { f() })).Acquire(t.Context())
		}()
	},
	"the function that runs under a lock": func(t *testing.T, b *bubble, f func()) {
		go func() {
			_ = b.session.Lock("done").Do(t.Context(), func(context.Context, *tenure.Held) error { f(); return nil })
		}()
	},
	"the function that leads": func(t *testing.T, b *bubble, f func()) {
		go func() {
			_ = b.session.Election("led").Run(t.Context(), nil, func(context.Context, *tenure.Leadership) error {
				f()
				return errors.New("over")
			})
		}()
	},
	"the loop over a watch": func(t *testing.T, b *bubble, f func()) {
		go func() {
			for range b.client.Watch(t.Context(), tenure.OnPrefix(""), tenure.WithInitial()) { //nolint:errcheck // It is left at once.
				f()
				return
			}
		}()
	},
	"the functions that are told of a watch's beginning and break": func(t *testing.T, b *bubble, f func()) {
		go func() {
			begin, interrupt := tenure.OnStart(func(uint64) { f() }), tenure.OnBreak(func(error) { f() })
			for range b.client.Watch(t.Context(), tenure.OnPrefix(""), interrupt, begin) { //nolint:errcheck // It is left at once.
				return
			}
		}()
	},
	"the loop over an election": func(t *testing.T, b *bubble, f func()) {
		go func() {
			for range b.client.Observe(t.Context(), "led") { //nolint:errcheck // It is left at once.
				f()
				return
			}
		}()
	},
}

// onState calls f when the session is in a state.
func onState(b *bubble, state tenure.State, f func()) {
	b.session.OnState(func(c tenure.StateChange) {
		if c.State == state {
			f()
		}
	})
}

// TestCloseMayBeCalledFromEverything closes in each function that the library calls, in fake time: a close that waits for the function that it is
// called from never returns.
func TestCloseMayBeCalledFromEverything(t *testing.T) {
	for callback, run := range callbacks {
		for closer, end := range closers {
			t.Run(closer+" in "+callback, func(t *testing.T) {
				for range closings() {
					synctest.Test(t, func(t *testing.T) {
						b := newBubble(t, 1)
						var once sync.Once
						returned := make(chan struct{})
						run(t, b, func() {
							once.Do(func() {
								end(b)
								close(returned)
							})
						})
						demandClosed(t, returned)
						b.each(func(m *fakeMember) { m.Refuse(false) })
						_ = b.client.Close()
						pass(time.Minute) // What closes beside comes to its end.
					})
				}
			})
		}
	}
}

// demandClosed demands that a close returns; the time is fake.
func demandClosed(t *testing.T, returned <-chan struct{}) {
	t.Helper()
	select {
	case <-returned:
	case <-time.After(10 * time.Minute):
		panic("a close that was called from a callback did not return") // Its goroutines would keep the bubble for ever.
	}
}

// TestCloseDoesNotWaitForAListener closes while a listener is at work, and does so again from the listener.
func TestCloseDoesNotWaitForAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, 1)
		closed, told := make(chan struct{}), make(chan tenure.State, 10)
		b.session.OnState(func(c tenure.StateChange) {
			<-closed
			_ = b.session.Close()
			told <- c.State
		})
		synctest.Wait()
		if err := b.client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		close(closed)
		for _, want := range []tenure.State{tenure.StateConnected, tenure.StateClosed} {
			if got := <-told; got != want {
				t.Errorf("told %v, want %v", got, want)
			}
		}
	})
}

// TestCloseMayBeCalledFromADialer closes the client while it connects.
func TestCloseMayBeCalledFromADialer(t *testing.T) {
	for range closings() {
		var client *tenure.Client
		opened, closed := make(chan struct{}), make(chan struct{})
		var once sync.Once
		dialer := func(context.Context, string) (net.Conn, error) {
			<-opened
			once.Do(func() {
				_ = client.Close()
				close(closed)
			})
			return nil, errors.New("closed")
		}
		var err error
		if client, err = tenure.Open("tenure://localhost:7400", tenure.WithDialer(dialer)); err != nil {
			t.Fatal(err)
		}
		close(opened)
		if _, err := client.KV().Get(t.Context(), "key"); !errors.Is(err, tenure.ErrClientClosed) {
			t.Errorf("got %v, want that the client is closed", err)
		}
		<-closed
	}
}
