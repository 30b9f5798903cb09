package core

import (
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"
)

// refusals keeps a member from refusing the same entries more than once in a tick.
//
// A leader that was told of entries here which the disk has lost sends what follows on them at once when it is refused: its raft does not go
// back behind what was acknowledged. Each message would be refused and each refusal answered, as fast as the network is, until a snapshot
// has come; and each heartbeat would add one more message that goes round. Who is refused once asks again with the next heartbeat.
type refusals struct{ last refusal }

// refusal is what a message says that refuses entries; its zero value says nothing.
type refusal struct{ to, term, index, hint, logTerm uint64 }

// tick lets the same entries be refused again.
func (r *refusals) tick() { r.last = refusal{} }

// once returns messages without refusals that were sent since the last tick.
func (r *refusals) once(messages []*raftpb.Message) []*raftpb.Message {
	return slices.DeleteFunc(messages, func(m *raftpb.Message) bool {
		if m.GetType() != raftpb.MsgAppResp || !m.GetReject() {
			return false
		}
		now := refusal{to: m.GetTo(), term: m.GetTerm(), index: m.GetIndex(), hint: m.GetRejectHint(), logTerm: m.GetLogTerm()}
		again := now == r.last
		r.last = now
		return again
	})
}
