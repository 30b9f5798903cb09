package raftnode

import (
	"context"
	"fmt"
	"sync"

	"go.uber.org/zap"
)

// leaderTasks runs the leader's tasks for one term at a time.
type leaderTasks struct {
	n *Node

	mu     sync.Mutex // guards what follows
	term   uint64     // term to lead in; 0 when this member does not lead
	change chan struct{}
	begun  uint64             // term whose tasks were started last
	cancel context.CancelFunc // of those tasks; nil when none run
}

func newLeaderTasks(n *Node) *leaderTasks {
	return &leaderTasks{n: n, change: make(chan struct{}, 1)}
}

// lead says in which term this member leads, 0 for none. Tasks of another term are cancelled at once. It does not block.
func (t *leaderTasks) lead(term uint64) {
	t.mu.Lock()
	if t.term == term {
		t.mu.Unlock()
		return
	}
	t.term = term
	if t.cancel != nil {
		t.cancel()
	}
	t.mu.Unlock()
	select {
	case t.change <- struct{}{}:
	default:
	}
}

// run starts and ends the tasks as the leadership goes. It ends with ctx, after the tasks have ended.
func (t *leaderTasks) run(ctx context.Context) {
	if len(t.n.o.LeaderTasks) == 0 {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil {
		// Tasks of the term before were cancelled by lead; the next ones do not start before they are gone.
		running.Wait()
		if taskCtx, term, ok := t.begin(ctx); ok {
			t.n.log.Debug("leader tasks start", zap.Uint64("term", term))
			for i, task := range t.n.o.LeaderTasks {
				running.Go(func() {
					if err := task(taskCtx, term); err != nil && taskCtx.Err() == nil {
						t.n.fail(fmt.Errorf("leader task %d: %w", i, err))
					}
				})
			}
		}
		select {
		case <-ctx.Done():
		case <-t.change:
		}
	}
	t.lead(0)
}

// begin returns the context of the present term's tasks, once for each term.
func (t *leaderTasks) begin(ctx context.Context) (context.Context, uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term == 0 || t.term == t.begun {
		return nil, 0, false
	}
	t.begun = t.term
	taskCtx, cancel := context.WithCancel(ctx)
	t.cancel = cancel
	return taskCtx, t.term, true
}
