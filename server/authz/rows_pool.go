package authz

import (
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// addPool adds the messages of PoolService.
func addPool(t *Table) {
	set[*tenurev1.ListPoolRequest](t, with(page(),
		row{add: func(v *visit, _ proto.Message) { v.add(Need{Kind: Node, Verb: Read, Match: Prefix}) }},
		none("state", "it selects among nodes that may all be read"),
		none("role", "it selects among nodes that may all be read"),
	)...)
	set[*tenurev1.ForceLeaveRequest](t, whole(Operator, Write), none("node", "the message as a whole needs it"))
}
