package catalog

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// hiddenInARow is how many instances a list passes over one by one that its caller does not see, before it looks for the next one that it may see.
const hiddenInARow = 16

// seesService reports whether the caller of a list sees what belongs to a service, as far as that is about the service. A check may belong to none.
func (l *list) seesService(name string) bool {
	return l.Sight == nil || name == "" || authz.SeesService(l.Sight, name)
}

// services returns which names of services below a prefix the caller of a list sees.
func (l *list) services(prefix string) []authz.Span {
	if l.Sight == nil {
		return []authz.Span{{Text: prefix}}
	}
	return l.Sight.Spans(authz.Service, authz.Read, prefix)
}

// nodesSeen visits the nodes with a prefix that the caller sees, behind one of them, until the page ends.
func (l *list) nodesSeen(prefix, after string, visit func(storage.NodeEntry) (bool, error)) error {
	if l.Sight == nil {
		return l.Nodes(prefix, after, visit)
	}
	return l.each(l.Sight.Spans(authz.Node, authz.Read, catalog.NodeKey(prefix)), after, func(span authz.Span) error {
		return l.nodesIn(span, after, visit)
	})
}

// each visits spans, from the one with a name on, until the page or the call ends: a caller may have many, with nothing in them.
func (l *list) each(spans []authz.Span, from string, visit func(authz.Span) error) error {
	for _, span := range authz.SpansFrom(spans, from) {
		if err := l.over(); err != nil {
			return err
		}
		if err := visit(span); err != nil || l.ended {
			return err
		}
	}
	return nil
}

// nodes returns which names of nodes the caller of a list sees, who does not see all.
func (l *list) nodes() []authz.Span {
	if !l.nodesKnown {
		l.nodesKnown, l.nodeSpans = true, l.Sight.Spans(authz.Node, authz.Read, "")
	}
	return l.nodeSpans
}

// nodesIn visits the nodes of a span.
func (l *list) nodesIn(span authz.Span, after string, visit func(storage.NodeEntry) (bool, error)) error {
	if !span.Exact {
		return l.Nodes(span.Text, after, visit)
	}
	if span.Text <= after {
		return nil
	}
	n, found, err := l.Node(span.Text)
	if err == nil && found {
		_, err = visit(n)
	}
	return err
}

// instancesSeen visits the instances of services in a span, behind one of them, until the page ends. seen says whether the caller sees the node; of
// several in a row that it does not see, not all are visited.
func (l *list) instancesSeen(span authz.Span, after storage.EntryAt, visit func(at storage.EntryAt, seen bool) (bool, error)) error {
	if l.Sight == nil {
		return l.Instances(span.Text, !span.Exact, after, func(at storage.EntryAt) (bool, error) { return visit(at, true) })
	}
	nodes := l.nodes()
	for again := true; again; {
		again = false
		hidden := 0
		err := l.Instances(span.Text, !span.Exact, after, func(at storage.EntryAt) (bool, error) {
			rest := authz.SpansFrom(nodes, at.Node)
			if len(rest) > 0 && rest[0].Has(at.Node) {
				hidden = 0
				return visit(at, true)
			}
			if hidden++; hidden > hiddenInARow {
				again, after = true, storage.EntryAt{Service: at.Service}
				if len(rest) > 0 {
					after.Node = rest[0].Text
				}
				return false, nil
			}
			return visit(at, false)
		})
		if err == nil {
			err = l.over()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checksSeen visits the checks of all nodes that a caller sees who does not see all, behind one of them, until the page ends.
func (l *list) checksSeen(after storage.EntryAt, visit func(storage.EntryAt, *storev1.CheckRecord) (bool, error)) error {
	return l.each(l.nodes(), after.Node, func(span authz.Span) error {
		node, from := "", after
		if span.Exact {
			node = span.Text
		}
		if after.Node < span.Text {
			from = storage.EntryAt{Node: span.Text}
		}
		return l.Checks(node, from, func(at storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
			if !span.Has(at.Node) {
				return false, nil
			}
			return visit(at, k)
		})
	})
}
