package antientropy

import (
	"maps"

	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/invariants"
)

// checkedMax is up to how many rows of the agent are compared to assert that the comparison is right.
const checkedMax = 64

// comparison is how the catalog, as the last round left it, compares with the agent. It is kept up row by row, so that a change costs what changed,
// and a question nothing, however much is registered. Its messages are never changed.
type comparison struct {
	agent rows
	// catalog is what the catalog had when the last round ended, and refused what it had refused. Nothing is known of either unless known.
	catalog catalogRows
	refused refusals
	known   bool

	// differs says that the node differs. open are the keys of services and checks that do; true: the cluster refused it, and the agent still has
	// what was refused, of which there are waiting. What goes with its service is not among them. outputs are the keys of checks of which the output
	// alone differs.
	differs bool
	open    map[string]bool
	waiting int
	outputs map[string]bool
	// goes are the services that are to be deleted.
	goes map[string]bool
}

func newComparison() comparison {
	return comparison{agent: newRows(), catalog: newCatalogRows(newRows())}
}

// follow takes what the registry has now.
func (c *comparison) follow(t registry.Touched) {
	for id, of := range t.Services {
		if of == nil {
			delete(c.agent.services, id)
			continue
		}
		m := message.Service(*of)
		m.Origin = tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
		c.agent.services[id] = m
	}
	for id, of := range t.Checks {
		if of == nil {
			delete(c.agent.checks, id)
			continue
		}
		m := message.Check(of.Definition, of.State)
		m.Origin = tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
		c.agent.checks[id] = m
	}
	if !c.known {
		return
	}
	for id := range t.Services {
		c.compareService(id)
	}
	for id := range t.Checks {
		c.compareCheck(id)
	}
}

// setNode takes what the agent says about its node.
func (c *comparison) setNode(node *tenurev1.Node) {
	c.agent.node = proto.CloneOf(node)
	c.agent.node.Origin = tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	c.differs = !sameNode(c.catalog.node, c.agent.node)
}

// forget ends all that is known of the catalog.
func (c *comparison) forget() { *c = comparison{agent: c.agent, catalog: newCatalogRows(newRows())} }

// compareAll begins with what a round that read the catalog found in it, and left there.
func (c *comparison) compareAll(catalog rows, refused refusals) {
	*c = comparison{
		agent: c.agent, known: true, refused: maps.Clone(refused),
		catalog: newCatalogRows(rows{node: catalog.node, services: maps.Clone(catalog.services), checks: maps.Clone(catalog.checks)}),
		open:    map[string]bool{}, outputs: map[string]bool{}, goes: map[string]bool{},
	}
	c.differs = !sameNode(c.catalog.node, c.agent.node)
	of := allIDs(c.catalog.rows, c.agent)
	for _, id := range of.services {
		c.compareService(id)
	}
	for _, id := range of.checks {
		c.compareCheck(id)
	}
}

// compareMade goes on with what a round made and was refused.
func (c *comparison) compareMade(made []*batch, refused refusals) {
	again := map[string]bool{}
	note := func(key string) { again[entryKey(key)] = true }
	for key := range c.refused {
		note(key)
	}
	for key := range refused {
		note(key)
	}
	for key := range c.open {
		note(key)
	}
	c.refused = maps.Clone(refused)
	for _, b := range made {
		// The agent may have these again by now.
		for _, id := range c.catalog.apply(b) {
			note(CheckKey(id))
		}
		b.each(func(key string, _ proto.Message) { note(key) })
	}
	c.differs = !sameNode(c.catalog.node, c.agent.node)
	of := idsOf(again)
	for _, id := range of.services {
		c.compareService(id)
	}
	for _, id := range of.checks {
		c.compareCheck(id)
	}
}

func (c *comparison) compareService(id string) {
	key, is, want := ServiceKey(id), c.catalog.services[id], c.agent.services[id]
	goes := gone(is.GetOrigin(), want != nil)
	c.same(key)
	if of := serviceToWrite(is, want); of != nil {
		c.differ(key, c.refused.stands(key, of))
	} else if goes {
		c.differ(key, c.refused.stands(deleteKey(key), nil))
	}
	if goes == c.goes[id] {
		return
	}
	if c.goes[id] = goes; !goes {
		delete(c.goes, id)
	}
	for check := range c.catalog.checksOf[id] {
		c.compareCheck(check)
	}
}

func (c *comparison) compareCheck(id string) {
	key, is, want := CheckKey(id), c.catalog.checks[id], c.agent.checks[id]
	c.same(key)
	delete(c.outputs, key)
	switch {
	case want != nil && !sameCheck(is, want):
		c.differ(key, c.refused.stands(key, want))
	case want != nil && is.GetOutput() != want.GetOutput():
		c.outputs[key] = true
	case gone(is.GetOrigin(), want != nil) && !c.goes[is.GetServiceId()]:
		c.differ(key, c.refused.stands(deleteKey(key), nil))
	}
}

// differ notes that a row differs, and whether it waits because the cluster refused it.
func (c *comparison) differ(key string, waits bool) {
	c.open[key] = waits
	if waits {
		c.waiting++
	}
}

// same notes that a row does not differ.
func (c *comparison) same(key string) {
	if c.open[key] {
		c.waiting--
	}
	delete(c.open, key)
}

// settled reports whether only what the cluster refused differs.
func (c *comparison) settled() bool { return c.known && !c.differs && len(c.open) == c.waiting }

// missing counts all differences.
func (c *comparison) missing() int {
	if !c.known {
		return 1 + len(c.agent.services) + len(c.agent.checks)
	}
	n := len(c.open)
	if c.differs {
		n++
	}
	return n
}

// outOfSync returns the keys of what the agent has and the catalog has not.
func (c *comparison) outOfSync() map[string]bool {
	keys := map[string]bool{}
	of := idsOf(c.open)
	if !c.known {
		of = allIDs(newRows(), c.agent)
	}
	for _, id := range of.services {
		if c.agent.services[id] != nil {
			keys[ServiceKey(id)] = true
		}
	}
	for _, id := range of.checks {
		if c.agent.checks[id] != nil {
			keys[CheckKey(id)] = true
		}
	}
	return keys
}

// part returns the agent's rows that differed from the catalog when the last round ended, or do since, and which were looked at.
func (c *comparison) part(outputs bool) (agent rows, of ids) {
	of = idsOf(c.open)
	if outputs {
		of = idsOf(c.open, c.outputs)
	}
	agent = newRows()
	agent.node = c.agent.node
	for _, id := range of.services {
		if m := c.agent.services[id]; m != nil {
			agent.services[id] = m
		}
	}
	for _, id := range of.checks {
		if m := c.agent.checks[id]; m != nil {
			agent.checks[id] = m
		}
	}
	return agent, of
}

// whole returns all of the agent's rows.
func (c *comparison) whole() rows {
	return rows{node: c.agent.node, services: maps.Clone(c.agent.services), checks: maps.Clone(c.agent.checks)}
}

// check asserts that what was kept up row by row is what a comparison of all rows finds, where they are few.
func (c *comparison) check() {
	if !invariants.Enabled || !c.known || len(c.agent.services)+len(c.agent.checks) > checkedMax {
		return
	}
	of := allIDs(c.catalog.rows, c.agent)
	all, stand := difference(c.catalog.rows, c.agent, of, false), c.refused.difference(c.catalog.rows, c.agent, of, false)
	invariants.That(all.size() == c.missing(), "%d rows are noted as different, and %d are", c.missing(), all.size())
	invariants.That(all.size()-stand.size() == c.waiting, "%d rows are noted as refused, and %d are", c.waiting, all.size()-stand.size())
	outputs := difference(c.catalog.rows, c.agent, of, true)
	invariants.That(outputs.size()-all.size() == len(c.outputs), "%d outputs are noted as different, and %d are", len(c.outputs), outputs.size()-all.size())
	invariants.That(maps.EqualFunc(c.catalog.checksOf, newCatalogRows(c.catalog.rows).checksOf, maps.Equal[map[string]bool]), "the index of checks is wrong")
}
