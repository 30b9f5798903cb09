package sim

import (
	"context"
	"iter"
)

// task is code of the product that waits where members have goroutines: a coroutine, which goes on when what it waits for has come. It
// runs while nothing else does, so a run with tasks is as repeatable as one without.
type task struct {
	of    *[]*task // those of its owner that have not ended
	next  func() (func(resume func()), bool)
	stop  func()
	yield func(func(resume func())) bool
	over  bool
}

// taskKey is the key of a task in the context of what it does.
type taskKey struct{}

// taskEnded unwinds a task whose owner has ended.
type taskEnded struct{}

// task starts one of a member.
func (r *life) task(do func(ctx context.Context)) { startTask(&r.tasks, do) }

// startTask starts one among those of its owner. The context leads back to it.
func startTask(of *[]*task, do func(ctx context.Context)) {
	t := &task{of: of}
	t.next, t.stop = iter.Pull(func(yield func(func(func())) bool) {
		defer func() {
			switch p := recover().(type) {
			case nil, taskEnded:
			default:
				panic(p)
			}
		}()
		t.yield = yield
		do(context.WithValue(context.Background(), taskKey{}, t))
	})
	*of = append(*of, t)
	t.step()
}

// within returns a context for what another task goes on with: the values of ctx, and the task of now.
func within(ctx, now context.Context) context.Context {
	return context.WithValue(ctx, taskKey{}, now.Value(taskKey{}))
}

// step lets the task go on until it waits again.
func (t *task) step() {
	if t.over {
		return
	}
	ask, more := t.next()
	if !more {
		t.over = true
		*t.of = without(*t.of, t)
		return
	}
	ask(t.step)
}

// end ends a task that waits. Nothing more of it happens.
func (t *task) end() {
	t.over = true
	t.stop()
}

// await waits in a task until ask brings a value. What ask brings later is dropped.
func await[T any](ctx context.Context, ask func(bring func(T))) (got T) {
	t, _ := ctx.Value(taskKey{}).(*task)
	wait := func(resume func()) {
		brought := false
		ask(func(v T) {
			if !brought {
				brought, got = true, v
				resume()
			}
		})
	}
	if !t.yield(wait) {
		panic(taskEnded{})
	}
	return got
}
