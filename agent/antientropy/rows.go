package antientropy

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// rows are a node's part of the catalog.
type rows struct {
	// node is nil while it is not registered.
	node     *tenurev1.Node
	services map[string]*tenurev1.Service
	checks   map[string]*tenurev1.Check
}

func newRows() rows {
	return rows{services: map[string]*tenurev1.Service{}, checks: map[string]*tenurev1.Check{}}
}

// batch is what one call writes and deletes.
type batch struct {
	node           *tenurev1.Node
	services       []*tenurev1.Service
	checks         []*tenurev1.Check
	deleteServices []string
	deleteChecks   []string
}

func (b *batch) size() int {
	n := len(b.services) + len(b.checks) + len(b.deleteServices) + len(b.deleteChecks)
	if b.node != nil {
		n++
	}
	return n
}

// overridesTags reports whether it changes an instance that is in the catalog, and whose tags others may change.
func (b *batch) overridesTags(catalog rows) bool {
	return slices.ContainsFunc(b.services, func(s *tenurev1.Service) bool {
		return s.GetTagOverride() && catalog.services[s.GetServiceId()] != nil
	})
}

// bytes returns how large what it writes is. Ids of what it deletes are small.
func (b *batch) bytes() int {
	n := proto.Size(b.node)
	b.each(func(_ string, entry proto.Message) {
		if entry != nil {
			n += proto.Size(entry)
		}
	})
	return n
}

// take moves up to n entries into a batch of their own, in the order in which they have to be made: a service before its
// checks, and what is deleted last, so that a check that moves to another service is not deleted with the first.
func (b *batch) take(n int) *batch {
	first := &batch{}
	if b.node != nil && n > 0 {
		first.node, b.node = b.node, nil
		n--
	}
	first.services, b.services = cut(b.services, &n)
	first.checks, b.checks = cut(b.checks, &n)
	first.deleteServices, b.deleteServices = cut(b.deleteServices, &n)
	first.deleteChecks, b.deleteChecks = cut(b.deleteChecks, &n)
	return first
}

// each calls do with the key and the content of each entry but the node. What is deleted has no content.
func (b *batch) each(do func(key string, entry proto.Message)) {
	for _, m := range b.services {
		do(ServiceKey(m.GetServiceId()), m)
	}
	for _, m := range b.checks {
		do(CheckKey(m.GetCheckId()), m)
	}
	for _, id := range b.deleteServices {
		do(deleteKey(ServiceKey(id)), nil)
	}
	for _, id := range b.deleteChecks {
		do(deleteKey(CheckKey(id)), nil)
	}
}

// leaveOut takes entries out of a batch by their key and content.
func (b *batch) leaveOut(out func(key string, entry proto.Message) bool) {
	b.services = slices.DeleteFunc(b.services, func(m *tenurev1.Service) bool { return out(ServiceKey(m.GetServiceId()), m) })
	b.checks = slices.DeleteFunc(b.checks, func(m *tenurev1.Check) bool { return out(CheckKey(m.GetCheckId()), m) })
	b.deleteServices = slices.DeleteFunc(b.deleteServices, func(id string) bool { return out(deleteKey(ServiceKey(id)), nil) })
	b.deleteChecks = slices.DeleteFunc(b.deleteChecks, func(id string) bool { return out(deleteKey(CheckKey(id)), nil) })
}

// alone returns a batch for each entry but the node, by its key.
func (b *batch) alone() map[string]*batch {
	each := map[string]*batch{}
	for _, m := range b.services {
		each[ServiceKey(m.GetServiceId())] = &batch{services: []*tenurev1.Service{m}}
	}
	for _, m := range b.checks {
		each[CheckKey(m.GetCheckId())] = &batch{checks: []*tenurev1.Check{m}}
	}
	for _, id := range b.deleteServices {
		each[deleteKey(ServiceKey(id))] = &batch{deleteServices: []string{id}}
	}
	for _, id := range b.deleteChecks {
		each[deleteKey(CheckKey(id))] = &batch{deleteChecks: []string{id}}
	}
	return each
}

func cut[T any](all []T, n *int) (first, rest []T) {
	k := min(len(all), *n)
	*n -= k
	return all[:k:k], all[k:]
}

// ids are the services and checks that are looked at, in order.
type ids struct{ services, checks []string }

// allIDs returns those of all rows.
func allIDs(catalog, agent rows) ids {
	return ids{services: sorted(catalog.services, agent.services), checks: sorted(catalog.checks, agent.checks)}
}

// idsOf returns those of keys.
func idsOf(of ...map[string]bool) ids {
	var out ids
	for _, key := range sorted(of...) {
		if id, is := strings.CutPrefix(key, ServiceKey("")); is {
			out.services = append(out.services, id)
		} else {
			out.checks = append(out.checks, strings.TrimPrefix(key, CheckKey("")))
		}
	}
	return out
}

// difference returns what turns the catalog into what the agent has, of some ids: with a check, they have its service where
// that is to be deleted, and takes the check with it. Without outputs, a check whose output alone differs is left as it is.
func difference(catalog, agent rows, of ids, outputs bool) *batch {
	b := &batch{}
	if !sameNode(catalog.node, agent.node) {
		b.node = agent.node
	}
	for _, id := range of.services {
		is, want := catalog.services[id], agent.services[id]
		if m := serviceToWrite(is, want); m != nil {
			b.services = append(b.services, m)
		} else if gone(is.GetOrigin(), want != nil) {
			b.deleteServices = append(b.deleteServices, id)
		}
	}
	for _, id := range of.checks {
		is, want := catalog.checks[id], agent.checks[id]
		if want != nil && (!sameCheck(is, want) || (outputs && is.GetOutput() != want.GetOutput())) {
			b.checks = append(b.checks, want)
		}
		if _, goes := slices.BinarySearch(b.deleteServices, is.GetServiceId()); gone(is.GetOrigin(), want != nil) && !goes {
			b.deleteChecks = append(b.deleteChecks, id)
		}
	}
	return b
}

// serviceToWrite returns what is to be written of an instance; nil: nothing. Tags that others may change stay as they are.
func serviceToWrite(is, want *tenurev1.Service) *tenurev1.Service {
	if is != nil && want.GetTagOverride() && !slices.Equal(want.GetTags(), is.GetTags()) {
		want = proto.CloneOf(want)
		want.Tags = is.GetTags()
	}
	if want == nil || sameService(is, want) {
		return nil
	}
	return want
}

// gone reports whether an entry of the catalog is to be deleted: the agent registered it once, and no longer has it.
func gone(is tenurev1.CatalogOrigin, has bool) bool {
	return is == tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT && !has
}

// sorted returns the keys of all maps in order, each once.
func sorted[V any](of ...map[string]V) []string {
	var keys []string
	for _, m := range of {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// sameNode compares what an agent says about its node.
func sameNode(is, want *tenurev1.Node) bool {
	if is == nil {
		return false
	}
	is = proto.CloneOf(is)
	is.CreateRevision, is.ModRevision, is.Origin, is.LastSync = 0, 0, want.GetOrigin(), nil
	return proto.Equal(is, want)
}

func sameService(is, want *tenurev1.Service) bool {
	if is == nil {
		return false
	}
	is = proto.CloneOf(is)
	is.Node, is.CreateRevision, is.ModRevision = "", 0, 0
	return proto.Equal(is, want)
}

// sameCheck compares everything but the output.
func sameCheck(is, want *tenurev1.Check) bool {
	if is == nil {
		return false
	}
	is = proto.CloneOf(is)
	is.Node, is.ServiceName, is.CreateRevision, is.ModRevision, is.Output = "", "", 0, 0, want.GetOutput()
	return proto.Equal(is, want)
}
