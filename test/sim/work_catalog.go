package sim

import (
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/test/check"
)

// upCheck is the check that calls register.
const upCheck = "up"

// bind draws what a session is bound to.
func (s *session) bind() *storev1.SessionChecks {
	c := s.c
	if len(c.w.machines) == 0 || c.dice.IntN(3) == 0 {
		return nil
	}
	s.node = pick(c, c.w.machines...).name
	if c.dice.IntN(3) > 0 {
		return nil
	}
	s.check = c.anyCheck()
	return &storev1.SessionChecks{CheckIds: []string{s.check}}
}

// anyCheck draws a check that calls register or, where agents take part, one of theirs.
func (c *client) anyCheck() string {
	if c.w.machines[0].agent != nil && c.dice.IntN(3) == 0 {
		return agentCheck
	}
	return upCheck
}

// useCatalog registers checks on machines, changes and deletes them.
func useCatalog(c *client) {
	if c.w.silent {
		return
	}
	again := func(reply) { c.after(expo(c.dice, 700*time.Millisecond), func() { useCatalog(c) }) }
	if len(c.w.machines) == 0 {
		return
	}
	node := pick(c, c.w.machines...).name
	id := c.anyCheck()
	up := &storev1.CatalogName{Node: node, CheckId: id}
	cmd := &storev1.Command{}
	switch what := c.dice.IntN(20); {
	case what < 8:
		cmd.Kind = &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node: &storev1.Node{Name: node}, SkipNodeUpdate: true, Origin: storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT,
			DrawnNodeId: drawID(c),
			Checks:      []*storev1.Check{{CheckId: id, Name: id, Status: storev1.CheckStatus_CHECK_STATUS_PASSING}},
		}}
	case what < 15:
		cmd.Kind = &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{Node: node, CheckId: id, Status: pick(c,
			storev1.CheckStatus_CHECK_STATUS_PASSING, storev1.CheckStatus_CHECK_STATUS_WARNING, storev1.CheckStatus_CHECK_STATUS_CRITICAL)}}
	case what < 16:
		cmd.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: &storev1.CatalogName{Node: node}}}
	case what < 17:
		cmd.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: up}}
	default:
		cmd.Kind = &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{{Kind: &storev1.Op_Catalog{Catalog: &storev1.CatalogOp{
			Kind: &storev1.CatalogOp_Delete{Delete: up},
		}}}}}}
	}
	c.change(&check.Op{Kind: "catalog"}, cmd, again)
}

// drawID draws the id of a machine that is not in the catalog yet.
func drawID(c *client) []byte {
	id := make([]byte, 16)
	for i := range id {
		id[i] = byte(c.dice.Uint32())
	}
	return id
}
