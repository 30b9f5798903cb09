package consulhttp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// txnNodeJSON is an operation on a node.
type txnNodeJSON struct {
	Verb string
	Node wire.Node
}

// txnServiceJSON is an operation on an instance of a service.
type txnServiceJSON struct {
	Verb    string
	Node    string
	Service wire.Service
}

// txnCheckJSON is an operation on a check.
type txnCheckJSON struct {
	Verb  string
	Check wire.Check
}

// txnEntry is an operation on an entry of the catalog.
type txnEntry struct {
	verb  string
	text  string // the entry, for people
	index uint64
	name  *tenurev1.CatalogName
	put   tenurev1.CatalogOp
}

// entry returns the operation on an entry of the catalog; nil if it is about a key.
func (op *txnOpJSON) entry() (*txnEntry, error) {
	switch {
	case op.Node != nil:
		n := op.Node.Node
		return (&txnEntry{
			verb: op.Node.Verb, text: fmt.Sprintf("node %q", reply.Shown(n.Node)), index: n.ModifyIndex,
			name: &tenurev1.CatalogName{Node: n.Node},
			put:  tenurev1.CatalogOp{Kind: &tenurev1.CatalogOp_PutNode{PutNode: n.Message()}},
		}).checked("node")
	case op.Service != nil:
		s := op.Service.Service
		message := s.Message(op.Service.Node)
		if message.GetServiceId() == "" {
			message.ServiceId = message.GetName()
		}
		return (&txnEntry{
			verb: op.Service.Verb, text: fmt.Sprintf("service %q on node %q", reply.Shown(message.GetServiceId()), reply.Shown(op.Service.Node)),
			index: s.ModifyIndex, name: &tenurev1.CatalogName{Node: op.Service.Node, ServiceId: message.GetServiceId()},
			put: tenurev1.CatalogOp{Kind: &tenurev1.CatalogOp_PutService{PutService: message}},
		}).checked("service")
	case op.Check != nil:
		k := op.Check.Check
		message, err := k.Message(k.Node)
		if err != nil {
			return nil, reply.Refusal(http.StatusBadRequest, "%v", err)
		}
		if message.GetCheckId() == "" {
			return nil, reply.Refusal(http.StatusBadRequest, "Must provide the id of the check")
		}
		return (&txnEntry{
			verb: op.Check.Verb, text: fmt.Sprintf("check %q on node %q", reply.Shown(k.CheckID), reply.Shown(k.Node)), index: k.ModifyIndex,
			name: &tenurev1.CatalogName{Node: k.Node, CheckId: message.GetCheckId()},
			put:  tenurev1.CatalogOp{Kind: &tenurev1.CatalogOp_PutCheck{PutCheck: message}},
		}).checked("check")
	default:
		return nil, nil
	}
}

// checked refuses a verb that does not exist, and an instance without id, which would name its node.
func (e *txnEntry) checked(kind string) (*txnEntry, error) {
	switch e.verb {
	case verbGet, verbSet, verbCAS, verbDelete, verbDeleteCAS:
	default:
		return nil, reply.Refusal(http.StatusBadRequest, "unknown %s verb %q", kind, reply.Shown(e.verb))
	}
	if kind == "service" && e.name.GetServiceId() == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Must provide the id of the service")
	}
	return e, nil
}

// native returns the operation as it is sent.
func (e *txnEntry) native() *tenurev1.Op {
	op := &tenurev1.CatalogOp{}
	switch e.verb {
	case verbGet:
		op.Kind = &tenurev1.CatalogOp_Get{Get: e.name}
	case verbDelete, verbDeleteCAS:
		op.Kind = &tenurev1.CatalogOp_Delete{Delete: e.name}
	default:
		op.Kind = e.put.GetKind()
	}
	if e.verb == verbCAS || e.verb == verbDeleteCAS {
		op.IfRevision = &e.index
	}
	return &tenurev1.Op{Kind: &tenurev1.Op_Catalog{Catalog: op}}
}

// textMissing says that the entry does not exist.
func (e *txnEntry) textMissing() string { return e.text + " doesn't exist" }

// whatOf says why the operation fails.
func (e *txnEntry) whatOf(why tenurev1.ErrorReason) string {
	verb := "set"
	if e.verb == verbDelete || e.verb == verbDeleteCAS {
		verb = "delete"
	}
	switch why {
	case tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED:
		return fmt.Sprintf("failed to %s %s, index is stale", verb, e.text)
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return textNoNode
	case tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND:
		return "Missing service registration"
	case tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT:
		return fmt.Sprintf("failed to %s %s, its name or id belongs to another node", verb, e.text)
	default:
		return fmt.Sprintf("failed to %s %s", verb, e.text)
	}
}

// results returns what is shown of the operation: the entry, unless it was deleted.
func (e *txnEntry) results(r *tenurev1.CatalogOpResponse, datacenter string) []txnResultJSON {
	switch {
	case r.GetNode() != nil:
		return []txnResultJSON{{Node: wire.NodeOf(r.GetNode(), datacenter)}}
	case r.GetService() != nil:
		return []txnResultJSON{{Service: wire.ServiceOf(r.GetService())}}
	case r.GetCheck() != nil:
		return []txnResultJSON{{Check: wire.CheckOf(r.GetCheck(), nil)}}
	default:
		return nil
	}
}

// keepOurs lets the nodes that the transaction writes keep what Consul does not know of them. A set is made on the condition that the node is still as it
// was read.
func (t *transaction) keepOurs(ctx context.Context) error {
	var nodes []*tenurev1.Node
	var at []int
	for i, entry := range t.entries {
		if entry != nil && (entry.verb == verbSet || entry.verb == verbCAS) && entry.put.GetPutNode() != nil {
			nodes, at = append(nodes, entry.put.GetPutNode()), append(at, i)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	revisions, err := t.core.keepOurs(ctx, nodes...)
	for j, i := range at {
		if t.entries[i].verb == verbSet {
			t.native[i].GetCatalog().IfRevision = &revisions[j]
		}
	}
	return err
}

// changed reports whether a node that is set was no longer as keepOurs had read it.
func (t *transaction) changed(failed map[int]tenurev1.ErrorReason) bool {
	for i, why := range failed {
		if entry := t.entries[i]; entry != nil && entry.verb == verbSet && why == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED {
			return true
		}
	}
	return false
}

// findMissing fails the operations that get an entry which does not exist and which the transaction does not write before. One that
// goes later is left out of the results.
func (t *transaction) findMissing(ctx context.Context) error {
	var gets []*tenurev1.Op
	var at []int
	written := map[string]bool{}
	for i, entry := range t.entries {
		switch {
		case entry == nil:
		case entry.verb == verbSet || entry.verb == verbCAS:
			written[entry.text] = true
		case entry.verb == verbGet && !written[entry.text]:
			gets, at = append(gets, t.native[i]), append(at, i)
		}
	}
	if len(gets) == 0 {
		return nil
	}
	found, err := t.core.kv.Txn(ctx, &tenurev1.TxnRequest{Then: gets})
	if err != nil {
		return err
	}
	for j, r := range found.GetResponses() {
		if r.GetCatalog().GetEntry() == nil {
			t.fail(at[j], t.entries[at[j]].textMissing())
		}
	}
	return nil
}
