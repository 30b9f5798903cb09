package runner

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
)

// Prober looks at what a check is about. The second result is false if ctx ended first.
type Prober interface {
	Probe(ctx context.Context, kind check.Kind, timeout time.Duration) (check.Result, bool)
}

// Options say what a Runner needs.
type Options struct {
	Registry *registry.Registry
	Prober   Prober
	// Node is the agent's own. An alias of another is asked for with Prober, too.
	Node string
	// Ran is told of each run. It must not block.
	Ran func(d check.Definition, r check.Result, took time.Duration)
}

// Runner runs checks.
type Runner struct {
	options Options
	// wake has room for one, so that Changed never waits.
	wake chan struct{}
	// rows: other checks may be registered.
	rows  atomic.Bool
	loops map[string]*loop
	all   sync.WaitGroup
}

// loop is one check that is run.
type loop struct {
	definition check.Definition
	stop       context.CancelFunc
	ended      chan struct{}
}

// New returns a Runner that runs nothing yet.
func New(options Options) *Runner {
	if options.Ran == nil {
		options.Ran = func(check.Definition, check.Result, time.Duration) {}
	}
	return &Runner{options: options, wake: make(chan struct{}, 1), loops: map[string]*loop{}}
}

// Changed is told what happened to the registry.
func (r *Runner) Changed(c registry.Change) {
	if !c.Rows && !c.Status {
		return
	}
	if c.Rows {
		r.rows.Store(true)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run runs checks until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	defer r.all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.rows.Store(false)
	r.refresh(ctx, spread)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer.C:
		}
		next := r.options.Registry.Tick()
		if r.rows.Swap(false) {
			r.refresh(ctx, atOnce)
		}
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// atOnce begins a check with a run.
func atOnce(registry.Check) time.Duration { return 0 }

// spread begins a check that ran before at some time within its interval.
func spread(c registry.Check) time.Duration {
	if !c.Ran {
		return 0
	}
	return rand.N(max(c.Definition.Interval, 1)) //nolint:gosec // Nobody guesses it.
}

// runs reports whether something is run for a check.
func (r *Runner) runs(d check.Definition) bool {
	alias, is := d.Kind.(check.Alias)
	return d.Probes() || (is && alias.Node != "" && alias.Node != r.options.Node)
}

// refresh starts and stops loops, until they are those of the registry.
func (r *Runner) refresh(ctx context.Context, first func(registry.Check) time.Duration) {
	_, checks := r.options.Registry.Rows()
	keep := make(map[string]bool, len(checks))
	for _, c := range checks {
		if !r.runs(c.Definition) {
			continue
		}
		keep[c.Definition.ID] = true
		before := r.loops[c.Definition.ID]
		if before != nil && before.definition.Equal(c.Definition) {
			continue
		}
		r.loops[c.Definition.ID] = r.start(ctx, c, before, first(c))
	}
	for id, l := range r.loops {
		if !keep[id] {
			l.stop()
			delete(r.loops, id)
		}
	}
}

// start runs a check from now on, in place of another definition of it.
func (r *Runner) start(ctx context.Context, c registry.Check, before *loop, first time.Duration) *loop {
	ctx, stop := context.WithCancel(ctx)
	l := &loop{definition: c.Definition, stop: stop, ended: make(chan struct{})}
	if before != nil {
		before.stop()
	}
	r.all.Go(func() {
		defer close(l.ended)
		defer stop()
		if before != nil {
			<-before.ended
		}
		r.loop(ctx, c.Definition, first)
	})
	return l
}

// loop runs one check by its interval.
func (r *Runner) loop(ctx context.Context, d check.Definition, first time.Duration) {
	interval, timeout := d.Interval, d.Timeout
	if !d.Probes() {
		interval, timeout = check.IntervalDefault, check.TimeoutDefault
	}
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		result, ok := r.options.Prober.Probe(ctx, d.Kind, timeout)
		if ctx.Err() != nil {
			return
		}
		took := time.Since(began)
		if ok {
			r.options.Registry.Found(d, result)
			r.options.Ran(d, result, took)
		}
		// What a long run missed is left out.
		timer.Reset(interval - took%interval)
	}
}
