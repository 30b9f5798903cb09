package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
)

// A session in jeopardy whose grace is over refuses calls at once: the wait goes on, without keeping the machine busy.
func TestAWaitThatFailsAtOncePausesBeforeTheNext(t *testing.T) {
	for name, test := range map[string]struct {
		deadline time.Duration // Zero is none.
		want     error
	}{
		"until it is given up": {0, context.DeadlineExceeded},
		"until its deadline":   {time.Minute, errNotHad},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				q := &lockQueue{session: &session.Own{Session: &tenure.Session{}}, note: func(string, ...any) {}}
				began := time.Now()
				if test.deadline > 0 {
					q.deadline = began.Add(test.deadline)
				}
				attempts := 0
				held, err := q.persist(ctx, func(...tenure.LockOption) (*tenure.Held, error) {
					if attempts++; attempts == 10_000 {
						cancel()
					}
					return nil, &tenure.Error{Kind: tenure.ErrUnavailable, Applied: tenure.AppliedNo}
				})
				if held != nil || !errors.Is(err, test.want) {
					t.Errorf("got %v, %v; want %v", held, err, test.want)
				}
				if attempts < 60 || attempts > 1000 {
					t.Errorf("asked %d times in %v, want it about twice a second", attempts, time.Since(began))
				}
				if took := time.Since(began); test.deadline > 0 && took != test.deadline {
					t.Errorf("ended after %v, want %v", took, test.deadline)
				}
			})
		})
	}
}
