package renewal

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
)

// line drives the state machine of one stream of renewals. One goroutine reads, so that every renewal postpones its session's
// end from the moment it came; another waits for proofs, settles and answers.
type line struct {
	api  *Renewer
	end  lineEnd
	stop <-chan struct{} // closed when the server stops; nil if that ends ctx, too
	news chan struct{}   // one slot: there may be something to answer
	room chan struct{}   // one slot: the next message may be read
	done chan struct{}   // closed when nobody answers any more

	mu     sync.Mutex // guards stream
	stream *core.Stream
}

// lineEnd is what is at the other end of a line. Only the goroutine that answers uses it, but for receive and
// noted.
type lineEnd interface {
	// receive waits for a message.
	receive() ([]core.Asked, error)
	// prove proves that this member leads, or says why it does not.
	prove(ctx context.Context) (core.Event, error)
	// settle does what the task says.
	settle(ctx context.Context, t core.Settle) error
	// authorise decides again whether the client may renew. An error ends the stream.
	authorise(ctx context.Context, asked []core.Asked) error
	// send answers.
	send(verdicts []core.Verdict) error
	// rest does what is due between two rounds.
	rest() error
	// noted notes which sessions the stream renews no more, and which it renews from now on.
	noted(fx *core.Effects)
}

func newLine(a *Renewer, end lineEnd, c core.Config) *line {
	return &line{
		api: a, end: end, stream: core.NewStream(c),
		news: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// step takes an event, and does all that follows but for the task.
func (l *line) step(ev core.Event) core.Effects {
	l.mu.Lock()
	fx := l.stream.Step(time.Now(), ev)
	reads := l.stream.MayRead()
	l.mu.Unlock()
	if reads {
		ring(l.room)
	}
	for _, renewals := range fx.Release {
		l.api.Timers.Release(renewals)
	}
	if len(fx.Forget)+len(fx.Remember) > 0 {
		l.end.noted(&fx)
	}
	return fx
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// mayRead reports whether the next message may be read.
func (l *line) mayRead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream.MayRead()
}

// read takes messages until the stream ends.
func (l *line) read() {
	for {
		for !l.mayRead() {
			select {
			case <-l.room:
			case <-l.done:
				return
			}
		}
		asked, err := l.end.receive()
		if err != nil {
			l.ended(err)
			return
		}
		if !l.came(asked) {
			return
		}
	}
}

// ended says that no more messages come.
func (l *line) ended(err error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	l.step(core.Ended{Err: err})
	ring(l.news)
}

// came takes a message, and reports whether anybody answers it.
func (l *line) came(asked []core.Asked) bool {
	m := l.step(core.Came{Asked: asked}).Admit
	if m == nil {
		return false
	}
	l.admit(m)
	return true
}

// admit looks at what the renewals of a message bring, and receives them.
func (l *line) admit(m *core.Message) {
	lazy := &lazySnapshot{api: l.api}
	l.api.judge(lazy).Look(m)
	lazy.close()
	l.api.Timers.Receive(m.Renewals)
	l.step(core.Admitted{Message: m})
	ring(l.news)
}

// Decided takes verdicts of the leader. It never waits.
func (l *line) Decided(decisions []core.Decision) {
	l.step(core.Decided{Decisions: decisions})
	ring(l.news)
}

// close gives up what waits.
func (l *line) close() {
	close(l.done)
	l.step(core.Closed{})
}

// serve answers until the stream is over, or ctx ends.
func (l *line) serve(ctx context.Context) error {
	parked := false
	for {
		var changed <-chan struct{}
		if parked {
			// Taken before what is parked is settled again, so that no change is missed.
			changed = l.api.Timers.Changed()
		}
		fx := l.step(core.Round{})
		for fx.Task != nil {
			ev, err := l.do(ctx, fx.Task)
			if err != nil {
				return err
			}
			fx = l.step(ev)
		}
		if err := l.end.rest(); err != nil {
			return err
		}
		watched := parked || !fx.Idle.Parked
		parked = fx.Idle.Parked
		switch {
		case fx.Idle.Over:
			return fx.Idle.Err
		case fx.Idle.Again || !watched:
			continue
		case !parked:
			changed = nil
		}
		select {
		case <-l.news:
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.stop:
			return reason.ErrStopping
		}
	}
}

// do does a task, and returns the event that ends it.
func (l *line) do(ctx context.Context, task core.Task) (core.Event, error) {
	switch t := task.(type) {
	case core.Prove:
		return l.end.prove(ctx)
	case core.Settle:
		return core.Settled{}, l.end.settle(ctx, t)
	case core.Relay:
		for _, r := range t.Renewals {
			r.To = l
		}
		l.api.renewals.add(t.Renewals)
		return core.Handed{}, nil
	case core.Authorise:
		if err := l.api.caughtUp(ctx); err != nil {
			return nil, err
		}
		return core.Authorised{}, l.end.authorise(ctx, t.Asked)
	case core.Wait:
		return l.api.awaitLeader(ctx, t.Until), nil
	case core.Send:
		return core.Sent{}, l.end.send(t.Verdicts)
	default:
		return nil, errTask
	}
}

var errTask = errors.New("a stream of renewals has a task of an unknown kind")

// settleStream settles renewals of a stream.
func (a *Renewer) settleStream(t core.Settle) error {
	lazy := &lazySnapshot{api: a}
	defer lazy.close()
	return a.judge(lazy).Settle(t)
}

// judge decides about renewals by this member's timers and state.
func (a *Renewer) judge(lazy *lazySnapshot) core.Judge {
	at := a.Node.Store().Applied()
	return core.Judge{
		Timers: a.Timers, Sessions: lazy, Believes: shownSecrets{a}.believes(), DenyRevision: at.DenyRevision, Marks: at.EndMarks > 0,
	}
}
