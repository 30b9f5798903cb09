package access

import (
	"context"
	"sync/atomic"
)

// Note has the last decision about a call, for those who write down what was decided.
type Note struct{ last atomic.Pointer[Grant] }

// noteKey is the key of a call's note in its context.
type noteKey struct{}

// WithNote returns a context whose decisions are noted.
func WithNote(ctx context.Context) (context.Context, *Note) {
	n := &Note{}
	return context.WithValue(ctx, noteKey{}, n), n
}

// Grant returns what was decided last, about a call that was allowed or refused; nil if nothing was decided.
func (n *Note) Grant() *Grant { return n.last.Load() }

// WouldDeny reports whether a message was served only because the mode does not enforce.
func (g *Grant) WouldDeny() bool { return g.wouldDeny.Load() }

// note notes a decision that is about to be made.
func note(ctx context.Context, g *Grant) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.last.Store(g)
	}
}
