package conn_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// mute is a connection to a member that says nothing but what a test lets it say.
type mute struct {
	silent

	heard, pinged atomic.Uint64
	lives         bool // Whether it answers pings.
}

func (m *mute) Heard() uint64 { return m.heard.Load() }

func (m *mute) Ping(ctx context.Context) {
	m.pinged.Add(1)
	if m.lives {
		m.heard.Add(1)
		return
	}
	<-ctx.Done()
}

// TestOnlyAMemberThatOwesAnswersAndGivesNoSignOfLifeIsGivenUp looks after ten seconds.
func TestOnlyAMemberThatOwesAnswersAndGivesNoSignOfLifeIsGivenUp(t *testing.T) {
	tests := map[string]struct {
		owes, lives, talks bool
		pings              uint64 // At most; at least one, unless none.
		up                 bool
	}{
		"it owes nothing":                           {up: true},
		"it owes an answer":                         {owes: true, pings: 1},
		"it owes an answer and answers pings":       {owes: true, lives: true, pings: 10, up: true},
		"it owes an answer, and something comes":    {owes: true, talks: true, up: true},
		"it owes nothing, and something still came": {talks: true, up: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mute{silent: silent{broken: make(chan struct{})}, lives: test.lives}
				p, end := run(func(context.Context, string) (conn.Transport, error) { return m, nil })
				defer end()
				link, err := p.Get(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer link.Release()
				link.Owe()
				if !test.owes {
					link.Settle()
				}
				for range 50 {
					<-time.After(200 * time.Millisecond)
					if test.talks {
						m.heard.Add(1)
					}
				}
				up := true
				select {
				case <-link.Broken():
					up = false
				default:
				}
				if n := m.pinged.Load(); n > test.pings || (n == 0) != (test.pings == 0) || up != test.up {
					t.Errorf("%d pings, still in use: %t; want up to %d pings, and in use: %t", n, up, test.pings, test.up)
				}
			})
		})
	}
}

// TestAMemberIsWatchedAgainWhenItOwesAnswersLater has a member fall silent after it owed nothing for a while.
func TestAMemberIsWatchedAgainWhenItOwesAnswersLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{silent: silent{broken: make(chan struct{})}}
		p, end := run(func(context.Context, string) (conn.Transport, error) { return m, nil })
		defer end()
		link, err := p.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer link.Release()
		link.Owe()
		link.Settle()
		<-time.After(time.Minute)
		link.Owe()
		began := time.Now()
		<-link.Broken()
		if took := time.Since(began); took > 1300*time.Millisecond {
			t.Errorf("a silent member was given up after %v, want at most 1.3 s", took)
		}
	})
}
