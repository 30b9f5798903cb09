package raftnode_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// The leader raises the cluster version once every member says that it can follow, learners included, and not before. The
// programs here only pretend to follow the next one: that they stop, instead of skipping it, shows that it came.
func TestTheClusterVersionIsRaisedWhenAllCanFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, newest := storage.ClusterVersions()
		next := newest + 1
		f := newFleet(t, nil)
		pretend := func(o raftnode.Options) raftnode.Options { return raftnode.WithVersionMax(o, next) }
		for id := uint64(1); id <= 3; id++ {
			f.start(id, pretend, func(o raftnode.Options) raftnode.Options { return raftnode.WithGenesis(o, id, 3) })
		}
		says := func(id uint64, version uint32) {
			propose(t, f.leader(), &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{
				Member: &storev1.Member{Id: id, Name: fmt.Sprintf("m%d", id), VersionMin: 1, VersionMax: version},
			}}})
		}
		// A member has no record yet.
		says(1, next)
		says(2, next)
		<-time.After(10 * time.Second)
		f.put("no record", "1")
		// One is older, and one says nothing.
		says(3, newest)
		<-time.After(10 * time.Second)
		f.put("older", "1")
		says(3, 0)
		<-time.After(10 * time.Second)
		f.put("silent", "1")
		if got := f.leader().Store().Applied().ClusterVersion; got != newest {
			t.Fatalf("cluster version: got %d, want %d", got, newest)
		}
		says(3, next)
		for id := uint64(1); id <= 3; id++ {
			f.ended(id, storage.ErrUnknownFormat)
		}
	})
}
