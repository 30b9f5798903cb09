package raftnode_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// flipsPerFile returns in how many places each file of a directory is changed: all directories together have at least 2 000
// places with TENURE_SOAK=1.
func flipsPerFile(all int, files []string) int {
	if os.Getenv("TENURE_SOAK") != "1" {
		return 2
	}
	return all/len(files) + 1
}

// changeByte changes one byte of a file to another.
func changeByte(t *testing.T, fs vfs.FS, p string, rng *rand.Rand) (at int) {
	t.Helper()
	raw := slices.Clone(read(t, fs, p))
	at = rng.IntN(len(raw))
	raw[at] ^= byte(1 + rng.IntN(255))
	if err := datadir.WriteFile(fs, path.Dir(p), path.Base(p), raw); err != nil {
		t.Fatal(err)
	}
	return at
}

// A changed byte in any file of a member that votes alone is found or harmless. Only in the last 32 KiB of its log it cannot
// be told from a crash: what was written last may be missing there.
func TestAChangedByteOfALoneMember(t *testing.T) {
	for name, restarts := range map[string]bool{"just made": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			base := vfs.NewCrashableMem()
			o := raftnode.Options{
				FS: base, Dir: "/data", CheckpointLogBytes: 1 << 40, Snapshots: raftnode.SnapshotOptions{TailEntries: 20},
			}
			m := start(t, o)
			for i := range uint64(flipKeys * 3) {
				if restarts && i == flipKeys {
					if err := m.stop(); err != nil {
						t.Fatal(err)
					}
					m = start(t, o)
				}
				propose(t, m.Node, put(fmt.Sprintf("k%d", i%flipKeys), flipValue(i)))
			}
			rng := rand.New(rand.NewPCG(5, 5))
			disk := base.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
			if err := m.stop(); err != nil {
				t.Fatal(err)
			}
			all := files(t, disk, "/data")
			counts := map[found]int{}
			for _, p := range all {
				length := len(read(t, disk, p))
				for range flipsPerFile(1000, all) {
					fs := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
					at := changeByte(t, fs, p, rng)
					tables := stateTables(t, fs)
					got, err := look(fs)
					counts[got]++
					if got == refusedToStart {
						keptTables(t, fs, tables, p)
					}
					end := path.Ext(p) == ".log" && at >= length-walBlockBytes
					if got == wrong || got == shortened && !end {
						t.Errorf("byte %d of %d of %s: outcome %d: %v", at, length, p, got, err)
					}
				}
			}
			t.Logf("refused to start %d, to read %d, harmless %d, shortened %d, wrong %d", counts[refusedToStart],
				counts[refusedToRead], counts[harmless], counts[shortened], counts[wrong])
		})
	}
}

// A changed byte in any file of one member of three loses nothing: the member refuses to start or to go on, and says why, or it
// has everything that was acknowledged.
func TestAChangedByteOfAFollower(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	const keys = 60
	for i := range keys {
		c.put(fmt.Sprint("k", i), names...)
	}
	victim := c.follower(names...)
	c.has(fmt.Sprint("k", keys-1), victim.name)
	victim.awaitMet(t)
	rng := rand.New(rand.NewPCG(6, 6))
	refused, whole := 0, 0
	all := victim.restingFiles(t)
	for i := range len(all) * flipsPerFile(500, all) {
		all = victim.restingFiles(t) // Every start has other files.
		p := all[i%len(all)]
		good := victim.fs.CrashClone(vfs.CrashCloneCfg{})
		at := changeByte(t, victim.fs, p, rng)
		tables := stateTables(t, victim.fs)
		err := victim.run(t)
		if err != nil {
			keptTables(t, victim.fs, tables, p)
		}
		if err == nil {
			err = victim.showsAll(t, keys)
			victim.fs = victim.fs.CrashClone(vfs.CrashCloneCfg{})
			if serr := victim.stop(); err == nil {
				err = serr
			}
		}
		if err == nil {
			whole++
			continue
		}
		refused++
		if strings.TrimSpace(err.Error()) == "" {
			t.Errorf("byte %d of %s: it ended and did not say why", at, p)
		}
		if p != "/data/FORMAT" {
			// The others know of this start.
			if err := datadir.WriteFile(good, "/data", "FORMAT", read(t, victim.fs, "/data/FORMAT")); err != nil {
				t.Fatal(err)
			}
		}
		victim.fs = good
	}
	t.Logf("%d refused, %d whole", refused, whole)
	if err := victim.run(t); err != nil {
		t.Fatal(err)
	}
	c.put("after", names...)
	c.has("after", names...)
}

// restingFiles stops a member, as a crash would, if it runs, and returns its files.
func (s *sailor) restingFiles(t *testing.T) []string {
	t.Helper()
	select {
	case <-s.ended:
	default:
		s.crash(t)
	}
	return files(t, s.fs, "/data")
}

// showsAll waits until a member shows the last key in a linearizable read, and looks for all others. It returns why the member
// ended if it did.
func (s *sailor) showsAll(t *testing.T, keys int) error {
	t.Helper()
	for s.node.ReadIndex(t.Context()) != nil {
		select {
		case <-s.ended:
			return s.stop()
		default:
		}
	}
	r := s.node.Store().NewReader()
	defer func() { _ = r.Close() }()
	for i := range keys {
		_, ok, err := r.Get(fmt.Sprint("k", i))
		if err != nil {
			return err
		}
		if !ok {
			t.Errorf("member %s lost k%d", s.name, i)
		}
	}
	return nil
}
