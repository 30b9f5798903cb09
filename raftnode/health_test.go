package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// smallDisk is a disk with so much room, as far as anybody asks, that runs out of it when told.
type smallDisk struct {
	vfs.FS
	free    atomic.Uint64
	reserve atomic.Uint64 // held by the file, given back when it is removed
	full    atomic.Bool   // writes fail
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

func (d *smallDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	if strings.HasSuffix(name, "RESERVE") {
		d.reserve.Store(1 << 20)
		d.free.Add(-d.reserve.Load())
	}
	f, err := d.FS.Create(name, category)
	return smallFile{File: f, d: d}, err
}

func (d *smallDisk) Remove(name string) error {
	err := d.FS.Remove(name)
	if err == nil && strings.HasSuffix(name, "RESERVE") {
		d.free.Add(d.reserve.Swap(0))
	}
	return err
}

type smallFile struct {
	vfs.File
	d *smallDisk
}

func (f smallFile) Write(p []byte) (int, error) {
	if f.d.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func newSmallDisk(free uint64) *smallDisk {
	d := &smallDisk{FS: vfs.NewMem()}
	d.free.Store(free)
	return d
}

const roomMin = 64 << 20

func watchRoom(o *raftnode.Options) {
	o.Health = raftnode.HealthOptions{DiskFreeMin: roomMin, ReserveBytes: 1 << 20}
}

// syncOf returns a sync of the only node, which has checks with a status.
func syncOf(number uint64, node *storev1.Node, status storev1.CheckStatus, checks ...string) *storev1.Command {
	id := make([]byte, 16)
	id[0] = 1
	s := &storev1.SyncNode{NodeId: id, Sync: &storev1.SyncNumber{Boot: 1, Number: number}, Node: node}
	for _, check := range checks {
		s.Checks = append(s.Checks, &storev1.Check{CheckId: check, Name: "c", Status: status, Output: status.String()})
	}
	return &storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: s}}
}

// A member of the cluster with too little room: nothing is taken that makes the state grow, what frees some goes on, and
// it is over by itself.
func TestAFullDiskRefusesGrowth(t *testing.T) {
	for _, who := range []string{"leader", "follower"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disks := map[uint64]*smallDisk{}
				f := newFleet(t, func(id uint64, o *raftnode.Options) {
					watchRoom(o)
					disks[id] = newSmallDisk(10 * roomMin)
					o.FS = disks[id]
				})
				f.begin(3)
				f.put("k", "v")
				leader := f.leader()
				self := leader.Status().MemberID
				session := make([]byte, 16)
				session[0] = 1
				create := &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
					SessionId: session, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
				}}}
				propose(t, leader, create)
				_, newest := storage.ClusterVersions()
				raise := &storev1.SetClusterVersion{Version: newest}
				propose(t, leader, &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: raise}})
				propose(t, leader, syncOf(1, &storev1.Node{Name: "n", NodeId: session}, storev1.CheckStatus_CHECK_STATUS_PASSING, "known"))
				sick := self
				if who == "follower" {
					sick = self%3 + 1
				}
				if _, err := disks[sick].Stat("/data/RESERVE"); err != nil {
					t.Errorf("reserve: %v", err)
				}
				disks[sick].free.Store(roomMin - 1)
				<-time.After(20 * time.Second)
				refused := map[string]*storev1.Command{
					"put": put("k", "w"), "create session": create,
					"transaction": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ElseOps: []*storev1.Op{
						{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "k"}}},
					}}}},
					"register node": {Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{}}},
					"a check more":  syncOf(2, nil, storev1.CheckStatus_CHECK_STATUS_CRITICAL, "known", "new"),
					"a node again":  syncOf(2, &storev1.Node{Name: "n"}, storev1.CheckStatus_CHECK_STATUS_CRITICAL, "known"),
					"query":         {Kind: &storev1.Command_PutQuery{PutQuery: &storev1.PutQuery{}}},
					"token": {Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
						Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{}},
					}}},
				}
				for name, cmd := range refused {
					if _, err := leader.Propose(t.Context(), cmd); !errors.Is(err, raftnode.ErrDiskFull) {
						t.Errorf("%s: got %v, want %v", name, err, raftnode.ErrDiskFull)
					}
				}
				if got := leader.Alarms(); len(got) != 1 || got[0].Name != raftnode.AlarmDiskFull || got[0].Member != sick {
					t.Errorf("alarms: got %+v", got)
				} else if name := fmt.Sprintf(" member %d ", sick); who == "follower" && !strings.Contains(got[0].Message, name) {
					t.Errorf("the alarm does not name%s: %q", name, got[0].Message)
				}
				propose(t, leader, &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: "k"}}})
				// Others see that a service is down, whoever says so.
				propose(t, leader, syncOf(2, nil, storev1.CheckStatus_CHECK_STATUS_CRITICAL, "known"))
				propose(t, leader, &storev1.Command{Kind: &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{
					Node: "n", CheckId: "known", Status: storev1.CheckStatus_CHECK_STATUS_WARNING, Output: "so so",
				}}})
				propose(t, leader, &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
					Session: &storev1.SessionRef{SessionId: session}, Clean: true,
				}}})
				disks[sick].free.Store(10 * roomMin)
				<-time.After(20 * time.Second)
				propose(t, leader, put("k", "x"))
				if got := leader.Alarms(); len(got) != 0 {
					t.Errorf("alarms afterwards: got %+v", got)
				}
			})
		})
	}
}

// A leader that has just started learns of a full disk from the member that has it, long before it is its turn to ask.
func TestANewLeaderLearnsOfAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disks := map[uint64]*smallDisk{}
		f := newFleet(t, func(id uint64, o *raftnode.Options) {
			watchRoom(o)
			o.Health.CompareEvery = time.Hour
			if disks[id] == nil {
				disks[id] = newSmallDisk(10 * roomMin)
			}
			o.FS = disks[id]
		})
		f.begin(3)
		f.put("k", "v")
		old := f.leader().Status().MemberID
		sick := old%3 + 1
		disks[sick].free.Store(roomMin - 1)
		<-time.After(3 * time.Second)
		f.restart(old, sick%3+1)
		leader := f.leader()
		if leader.Status().MemberID == sick {
			if err := leader.TransferLeadership(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			leader = f.leader()
		}
		f.await("the leader to refuse growth", func() bool {
			_, err := leader.Propose(t.Context(), put("k", "w"))
			return errors.Is(err, raftnode.ErrDiskFull)
		})
	})
}

// A write that finds no room stops the member. Started again it gives up its reserve to go on, and if that is not enough
// it waits.
func TestAMemberWithoutRoomStopsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSmallDisk(10 * roomMin)
		o := raftnode.Options{FS: d, Dir: "/data"}
		watchRoom(&o)
		m := start(t, o)
		propose(t, m.Node, put("k", "v"))
		<-time.After(2 * time.Second)
		if d.reserve.Load() == 0 {
			t.Fatal("there is no reserve")
		}
		d.free.Store(0)
		d.full.Store(true)
		if _, err := m.Propose(t.Context(), put("k", "w")); err == nil {
			t.Error("a put without room was acknowledged")
		}
		// Pebble keeps the text of the error only.
		if err := m.stop(); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			t.Errorf("run: got %v, want %v", err, syscall.ENOSPC)
		}
		m.stop = func() error { return nil } // The cleanup of start has nothing to complain about.
		d.full.Store(false)

		// The reserve is enough to start, and it may not grow.
		n, err := raftnode.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if d.reserve.Load() != 0 {
			t.Error("the reserve was not given up")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		ready(t, n)
		<-time.After(2 * time.Second)
		if _, err := n.Propose(t.Context(), put("k", "w")); !errors.Is(err, raftnode.ErrDiskFull) {
			t.Errorf("put: got %v, want %v", err, raftnode.ErrDiskFull)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}

		// Without any room it waits for some.
		d.free.Store(0)
		opened := make(chan *raftnode.Node)
		go func() {
			n, err := raftnode.Open(o)
			if err != nil {
				t.Error(err)
			}
			opened <- n
		}()
		<-time.After(time.Minute)
		select {
		case <-opened:
			t.Fatal("opened without room")
		default:
		}
		d.free.Store(10 * roomMin)
		if n := <-opened; n != nil {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// spoil changes a key's record in the state machine of a member that is stopped, as bad memory could.
func spoil(t *testing.T, fs vfs.FS, version uint64) {
	t.Helper()
	db, err := pebble.Open("/data/sm-1", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatValueSeparation})
	if err != nil {
		t.Fatal(err)
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("k"), UpperBound: []byte("l")})
	if err != nil {
		t.Fatal(err)
	}
	if !it.First() {
		t.Fatal("no key")
	}
	r := &storev1.KeyRecord{}
	if err = proto.Unmarshal(it.Value(), r); err != nil {
		t.Fatal(err)
	}
	r.Version = version
	value, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Set(slices.Clone(it.Key()), value, pebble.Sync)
	if err = errors.Join(err, it.Close(), db.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// refusedForGood starts a member whose state was found to be wrong, and tries to recover from it.
func refusedForGood(t *testing.T, fs vfs.FS) {
	t.Helper()
	for range 2 {
		n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
		if !errors.Is(err, raftnode.ErrStateDiffers) || !strings.Contains(err.Error(), "remove its data directory") {
			t.Errorf("open again: got %v, want %v and what to do", err, raftnode.ErrStateDiffers)
		}
		if err == nil {
			_ = n.Close()
		}
	}
	if _, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data"}); !errors.Is(err, raftnode.ErrStateDiffers) {
		t.Errorf("recover: got %v, want %v", err, raftnode.ErrStateDiffers)
	}
}

// A member whose state differs from that of a quorum stops, and does not start again. If no quorum has the same, nothing is written any more.
func TestDifferentStatesAreFound(t *testing.T) {
	tests := map[string]struct {
		spoiled []uint64
		stops   []uint64
	}{
		"one of three":        {spoiled: []uint64{2}, stops: []uint64{2}},
		"each of three apart": {spoiled: []uint64{2, 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, nil)
				f.begin(3)
				f.put("key", "v")
				f.agree(1, 2, 3)
				for i := range tt.spoiled {
					f.stop(tt.spoiled[i])
					spoil(t, f.disks[tt.spoiled[i]], 100+uint64(i))
					f.start(tt.spoiled[i], func(o raftnode.Options) raftnode.Options { return raftnode.WithGenesis(o, tt.spoiled[i], 3) })
					f.await("the member to follow", func() bool {
						return f.node(tt.spoiled[i]).Store().Applied().Index == f.leader().Store().Applied().Index
					})
				}
				// The difference shows when something is made of it.
				f.put("key", "w")
				<-time.After(20 * time.Second)
				for _, id := range tt.stops {
					f.ended(id, raftnode.ErrStateDiffers)
				}
				if len(tt.stops) > 0 {
					f.put("key", "x")
					refusedForGood(t, f.disks[tt.stops[0]])
					return
				}
				leader := f.leader()
				for name, cmd := range map[string]*storev1.Command{
					"put": put("key", "x"), "delete": {Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: "key"}}},
				} {
					if _, err := leader.Propose(t.Context(), cmd); !errors.Is(err, raftnode.ErrNoAgreement) {
						t.Errorf("%s: got %v, want %v", name, err, raftnode.ErrNoAgreement)
					}
				}
				if got := fmt.Sprint(leader.Alarms()); !strings.Contains(got, raftnode.AlarmChecksumMismatch) {
					t.Errorf("alarms: got %s", got)
				}
				// An operator decides for one of them, by removing the others.
				kept := leader.Status().MemberID
				for id := uint64(1); id <= 3; id++ {
					if id != kept {
						f.change("remove", func(ctx context.Context, leader *raftnode.Node) error {
							return leader.RemoveMember(ctx, id, true)
						})
						f.ended(id, raftnode.ErrRemoved)
					}
				}
				f.voters(kept)
				f.await("no alarm on a voter alone", func() bool { return len(f.leader().Alarms()) == 0 })
				f.put("key", "y")
			})
		})
	}
}
