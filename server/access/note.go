package access

import (
	"context"
	"errors"
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

// Lacking returns the ids of those sessions of a message of renewals that its caller may not renew, on what this member has.
func (g *Grant) Lacking() (sessions []string, err error) {
	s := g.authority.node.Store().NewReader()
	defer func() { err = errors.Join(err, s.Close()) }()
	find, who := lookup{state: s}, g.Who()
	for _, asked := range g.needs {
		need, applies, failed := find.need(asked)
		if failed != nil {
			return nil, failed
		}
		if applies && !who.Covers(need) {
			sessions = append(sessions, asked.ID)
		}
	}
	return sessions, nil
}

// note notes a decision that is about to be made.
func note(ctx context.Context, g *Grant) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.last.Store(g)
	}
}
