package call

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
)

const (
	// aloneTimeout is how long a change goes on without its caller: longer than a change of leader or a slow disk takes. What is made of
	// it later is not undone.
	aloneTimeout = time.Minute
	// aloneMax is how many changes go on without their callers, each with a request of up to 2 MiB. Beyond it, a call waits until its change has ended, so
	// that clients cannot have more of them under way than calls.
	aloneMax = 256
)

// Undoer proposes changes that must be undone when their callers go before they know what came of them. Any goroutine may
// call its methods.
type Undoer struct {
	caller *Caller
	under  sync.WaitGroup // changes under way
	alone  atomic.Int64   // those of them whose callers have gone
}

// NewUndoer returns one that proposes through a caller.
func NewUndoer(c *Caller) *Undoer { return &Undoer{caller: c} }

// Run waits until ctx has ended, and then for all changes under way. Nothing is proposed any more by then.
func (u *Undoer) Run(ctx context.Context) {
	<-ctx.Done()
	u.under.Wait()
}

// Propose is that of Caller, for a call of a method. If ctx ends while an attempt at the change is under way, the call is answered at once, and undo
// gets the result when there is one: another goroutine calls it, and it may block. No attempt begins after that, and what is under way when the
// server stops is not undone.
func (u *Undoer) Propose(
	ctx context.Context, method string, change Change, undo func(*storev1.Result),
) (*storev1.Result, error) {
	if ctx.Err() != nil {
		return u.caller.Propose(ctx, change)
	}
	// The request is changed for a moment here, so this cannot outlast the call.
	if err := u.caller.AddOptions(ctx, &change); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	asked, h := leader.NewAsked(ctx), &handover{told: make(chan outcome, 1)}
	u.under.Go(func() {
		defer end()
		var o outcome
		func() {
			defer gate.Recovered(u.caller.Log, method, &o.err)
			o.result, o.err = u.caller.order(ctx, life, asked, change)
		}()
		if !h.tell(o) && o.err == nil {
			defer gate.Recovered(u.caller.Log, method, &o.err)
			undo(o.result)
		}
	})
	select {
	case o := <-h.told:
		return o.result, o.err
	case <-ctx.Done():
	}
	if !asked.Gone() || !h.leave() {
		o := <-h.told // It comes at once.
		return o.result, o.err
	}
	u.leave(life, end)
	return nil, fmt.Errorf("%w: %w", raftnode.ErrOutcomeUnknown, ctx.Err())
}

// outcome is what came of a change.
type outcome struct {
	result *storev1.Result
	err    error
}

// handover is where an outcome is told, unless the call has gone by then.
type handover struct {
	told chan outcome // has room for the one

	mu   sync.Mutex // guards what follows
	gone bool
}

// tell tells an outcome, and reports whether the call takes it.
func (h *handover) tell(o outcome) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return false
	}
	h.told <- o
	return true
}

// leave reports whether the call may go without an outcome: none was told.
func (h *handover) leave() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = len(h.told) == 0
	return h.gone
}

// leave bounds the life of a change whose caller goes.
func (u *Undoer) leave(life context.Context, end context.CancelFunc) {
	late := time.AfterFunc(aloneTimeout, end)
	running := context.AfterFunc(u.caller.Stopping, end) //nolint:contextcheck // It is the server's life, not the call's.
	full := u.alone.Add(1) > aloneMax
	context.AfterFunc(life, func() {
		late.Stop()
		running()
		u.alone.Add(-1)
	})
	if full {
		<-life.Done()
	}
}
