package raftnode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// A start says that a recovery was interrupted where state and log are as it leaves them, and not where the state is that of
// another cluster; and only the first is finished by another recovery.
func TestAStartSaysThatARecoveryWasInterrupted(t *testing.T) {
	tests := map[string]struct {
		damage      func(t *testing.T, fs vfs.FS)
		interrupted bool
	}{
		"the directory's record is old": {
			damage: func(t *testing.T, fs vfs.FS) {
				old := read(t, fs, "/data/FORMAT")
				if _, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data"}); err != nil {
					t.Fatal(err)
				}
				if err := datadir.WriteFile(fs, "/data", "FORMAT", old); err != nil {
					t.Fatal(err)
				}
			},
			interrupted: true,
		},
		"the state is of another cluster": {
			damage: func(t *testing.T, fs vfs.FS) {
				other := vfs.NewMem()
				puts(t, other, 5, false)
				copyDir(t, other, "/data/sm-1", fs, "/copy")
				replaceDir(t, fs, "/copy", "/data/sm-1")
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			puts(t, fs, 5, false)
			tt.damage(t, fs)
			n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
			if err == nil {
				err = n.Close()
			}
			said := errors.Is(err, raftnode.ErrRecoveryInterrupted) && strings.Contains(fmt.Sprint(err), `run "tenure recover" again`)
			if !errors.Is(err, raftnode.ErrWrongCluster) || said != tt.interrupted {
				t.Errorf("start: got %v, want %v, interrupted %t", err, raftnode.ErrWrongCluster, tt.interrupted)
			}
			r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data"})
			if tt.interrupted && (err != nil || !r.Finished) || !tt.interrupted && !errors.Is(err, raftnode.ErrWrongCluster) {
				t.Errorf("recover: got %+v, %v", r, err)
			}
		})
	}
}
