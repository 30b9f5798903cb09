package access

import (
	"errors"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
)

// hiddenFact is the fact of an error that counts what was left out of it.
const hiddenFact = "hidden"

// Filters reports whether something may be left out of the answers to a call: only where rules are enforced. A nil grant says no.
func (g *Grant) Filters() bool {
	return g != nil && strings.HasPrefix(g.method, ourPrefix) && g.authority.enforces(g.method, g.authority.node.Store().Rights.Now().Mode)
}

// Show returns an answer without what its caller may not read: the message itself if nothing is left out, else a copy.
func (g *Grant) Show(m proto.Message) (proto.Message, error) {
	if !g.Filters() {
		return m, nil
	}
	shown, hidden, err := g.authority.answers.Show(m, (*viewer)(g))
	if err != nil {
		return nil, err
	}
	if hidden > 0 {
		g.authority.metrics.hidden.Add(float64(hidden))
	}
	return shown, nil
}

// Answer returns the one answer to a call without what its caller may not read: see Show. Its header says whether the caller sees only a part of what it asked
// for. A stream says that in its own headers, by what its caller saw when it began.
func (g *Grant) Answer(m proto.Message) (proto.Message, error) {
	shown, err := g.Show(m)
	if err == nil && g.Sight() != nil {
		if with, ok := shown.(interface {
			GetHeader() *tenurev1.ResponseHeader
		}); ok && with.GetHeader() != nil {
			with.GetHeader().Filtered = true
		}
	}
	return shown, err
}

// Instances returns what reports whether the caller may see an instance that a query found; nil: it may see all. What it may not see
// is counted.
func (g *Grant) Instances() func(*tenurev1.ServiceInstance) bool {
	if !g.Filters() {
		return nil
	}
	return func(i *tenurev1.ServiceInstance) bool {
		sees := authz.SeesInstance((*viewer)(g), i)
		if !sees {
			g.authority.metrics.hidden.Inc()
		}
		return sees
	}
}

// ShowError returns an error without what its caller may not read.
func (g *Grant) ShowError(err error) error {
	e := reason.Of(err)
	if e == nil || !g.Filters() {
		return err
	}
	without, text := g.authority.answers.ShowError(
		authz.Refusal{Reason: e.Reason, Key: e.About(), Facts: e.Metadata}, (*viewer)(g))
	if len(without) == 0 && text == "" {
		return err
	}
	shown := *e
	shown.Metadata = maps.Clone(e.Metadata)
	for _, name := range without {
		delete(shown.Metadata, name)
	}
	hidden := len(without)
	if text != "" {
		shown.Message = text
		hidden++
	}
	shown.Add(hiddenFact, strconv.Itoa(hidden))
	g.authority.metrics.hidden.Add(float64(hidden))
	return &shown
}

// viewer is the caller of a grant, to whom an answer is shown.
type viewer Grant

// Covers reports whether the caller has a right.
func (v *viewer) Covers(need authz.Need) bool { return v.who.Load().Covers(need) }

// Acts reports whether the message of the call acts as a session.
func (v *viewer) Acts(session string) bool {
	for i := range v.needs {
		if n := &v.needs[i]; n.Kind == authz.Session && n.Verb == authz.Write && n.By == authz.BySession && n.ID == session {
			return session != ""
		}
	}
	return false
}

// Reads reports whether the caller may read a session that it made. A session that cannot be looked up it may not read.
func (v *viewer) Reads(session string) bool {
	s := v.authority.node.Store().NewReader()
	find := lookup{state: s}
	need, applies, err := find.need(authz.Need{Kind: authz.Session, Verb: authz.Read, By: authz.BySession, ID: session})
	if err = errors.Join(err, s.Close()); err != nil {
		return false
	}
	return applies && need.Verb != 0 && v.Covers(need)
}

// Node returns the node of the session that the message of the call makes.
func (v *viewer) Node() string {
	for i := range v.needs {
		if n := &v.needs[i]; n.Kind == authz.Session && n.Verb == authz.Write && n.By == 0 {
			return n.Node
		}
	}
	return ""
}
