package raftnode_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// newerPut is a put with a field that this program does not know.
func newerPut() *storev1.Command {
	cmd := put("newer", "1")
	field := protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1)
	cmd.GetPut().ProtoReflect().SetUnknown(field)
	return cmd
}

// A command that no member could apply does not enter the log, whoever asks; the member goes on, and starts again.
func TestCommandsThatCannotBeAppliedAreNotProposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(1)
		f.put("k0", "before")
		badText := put("bad text \xff", "1")
		for name, cmd := range map[string]*storev1.Command{
			"unknown field": newerPut(), "no kind": {}, "text that is none": badText,
		} {
			before := f.leader().Status().LastIndex
			if _, err := f.leader().Propose(t.Context(), cmd); !errors.Is(err, raftnode.ErrCommandUnknown) {
				t.Errorf("%s: got %v, want %v", name, err, raftnode.ErrCommandUnknown)
			}
			if after := f.leader().Status().LastIndex; after != before {
				t.Errorf("%s: the log ends at %d, want %d", name, after, before)
			}
		}
		f.put("k1", "after")
		f.restart(1)
		if got := values(t, f.leader(), 2); got["k0"] != "before" || got["k1"] != "after" {
			t.Errorf("after a restart: got %v", got)
		}
	})
}

// A log that was poisoned by an older program is named by a recovery, and mended by one that may drop the entry.
func TestRecoveryDropsAnEntryThatNoMemberCanApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(1)
		f.put("k0", "before")
		poison, err := proto.Marshal(newerPut())
		if err != nil {
			t.Fatal(err)
		}
		at := f.leader().Status().LastIndex + 1
		if err = raftnode.ProposeRaw(f.leader(), poison); err != nil {
			t.Fatal(err)
		}
		f.ended(1, storage.ErrUnknownFormat)
		f.start(1)
		f.ended(1, storage.ErrUnknownFormat) // At every start.

		o := raftnode.RecoverOptions{FS: f.disks[1], Dir: "/data", DryRun: true}
		dry, err := raftnode.RecoverDir(o)
		if err != nil || len(dry.Unreadable) == 0 || dry.Unreadable[0].Index != at ||
			!errors.Is(dry.Unreadable[0].Cause, storage.ErrUnknownFormat) {
			t.Fatalf("dry run: got %+v, %v; want that entry %d is unreadable", dry, err, at)
		}
		o.DryRun = false
		if _, err = raftnode.RecoverDir(o); !errors.Is(err, raftnode.ErrUnreadable) {
			t.Fatalf("recover without leave to drop it: got %v, want %v", err, raftnode.ErrUnreadable)
		}
		f.start(1)
		f.ended(1, storage.ErrUnknownFormat) // Nothing was changed.
		o.DropUnreadable = true
		done, err := raftnode.RecoverDir(o)
		if err != nil || len(done.Unreadable) != 1 || done.NewClusterID == [16]byte{} {
			t.Fatalf("recover: got %+v, %v", done, err)
		}
		f.start(1)
		f.put("k1", "after")
		if got := values(t, f.leader(), 2); got["k0"] != "before" || got["k1"] != "after" {
			t.Errorf("recovered: got %v", got)
		}
	})
}
