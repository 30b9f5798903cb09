package wire

import (
	"maps"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Node is a node.
type Node struct {
	ID              string
	Node            string
	Address         string
	Datacenter      string
	TaggedAddresses map[string]string
	Meta            map[string]string
	CreateIndex     uint64
	ModifyIndex     uint64
}

// NodeOf returns a node; nil if there is none.
func NodeOf(n *tenurev1.Node, datacenter string) *Node {
	if n == nil {
		return nil
	}
	return &Node{
		ID: n.GetNodeId(), Node: n.GetName(), Address: n.GetAddress(), Datacenter: datacenter,
		TaggedAddresses: filled(n.GetTaggedAddresses()), Meta: filled(n.GetMeta()),
		CreateIndex: n.GetCreateRevision(), ModifyIndex: n.GetModRevision(),
	}
}

// Message returns the node as it is registered.
func (n *Node) Message() *tenurev1.Node {
	return &tenurev1.Node{
		Name: n.Node, NodeId: n.ID, Address: n.Address, TaggedAddresses: maps.Clone(n.TaggedAddresses), Meta: maps.Clone(n.Meta),
	}
}

// filled returns a map that is {} rather than null if it is empty.
func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
