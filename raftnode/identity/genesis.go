package identity

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// errIncomplete says what is wrong with a genesis that no member can begin with.
var errIncomplete = errors.New("genesis is incomplete")

// compose makes the genesis of members that all said who they are.
func compose(seen []sighting) *peerv1.Genesis {
	g := &peerv1.Genesis{ClusterId: make([]byte, 16), HistoryId: make([]byte, 16)}
	_, _ = rand.Read(g.GetClusterId()) // never fails
	_, _ = rand.Read(g.GetHistoryId()) // never fails
	for _, s := range seen {
		h := s.resp.GetHeader()
		g.Members = append(g.Members, &peerv1.FoundingMember{
			Name: s.Name, PeerAddress: s.Address, Id: h.GetFrom(), Incarnation: h.GetFromIncarnation(),
		})
	}
	return g
}

// foundingMember returns the member of a genesis by its name, or nil.
func foundingMember(g *peerv1.Genesis, name string) *peerv1.FoundingMember {
	i := slices.IndexFunc(g.GetMembers(), func(m *peerv1.FoundingMember) bool { return m.GetName() == name })
	if i < 0 {
		return nil
	}
	return g.GetMembers()[i]
}

// sameFounding tells whether two lists name the same members at the same addresses, in the same order.
func sameFounding(a, b []*peerv1.FoundingMember) bool {
	return slices.EqualFunc(a, b, func(a, b *peerv1.FoundingMember) bool {
		return a.GetName() == b.GetName() && a.GetPeerAddress() == b.GetPeerAddress()
	})
}

func decodeGenesis(raw []byte) (*peerv1.Genesis, error) {
	g := &peerv1.Genesis{}
	err := proto.Unmarshal(raw, g)
	if err == nil {
		err = checkGenesis(g)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: GENESIS: %w", datadir.ErrDamaged, err)
	}
	return g, nil
}

// checkGenesis refuses what a cluster cannot begin with. It may come from another member.
func checkGenesis(g *peerv1.Genesis) error {
	if len(g.GetClusterId()) != 16 || isZero(g.GetClusterId()) || len(g.GetHistoryId()) != 16 || len(g.GetMembers()) == 0 {
		return errIncomplete
	}
	ids := make([]uint64, 0, len(g.GetMembers()))
	for _, m := range g.GetMembers() {
		ids = append(ids, m.GetId())
	}
	return checkIDs(ids)
}

// checkIDs refuses ids that members cannot have, all of them together.
func checkIDs(ids []uint64) error {
	for i, id := range ids {
		switch {
		case id == 0 || raft.IsLocalMsgTarget(id):
			return fmt.Errorf("%w: no member has the id %x", errIncomplete, id)
		case slices.Contains(ids[:i], id):
			return fmt.Errorf("%w: two members have the id %x: one data directory is a copy of the other; "+
				"remove the copy before the cluster starts", errIncomplete, id)
		}
	}
	return nil
}
