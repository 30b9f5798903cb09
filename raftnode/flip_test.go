package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// files returns all files below a directory.
func files(t *testing.T, fs vfs.FS, dir string) (found []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		p := dir + "/" + name
		st, err := fs.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.IsDir() {
			found = append(found, files(t, fs, p)...)
		} else if st.Size() > 0 {
			found = append(found, p)
		}
	}
	return found
}

// kindOf names the kind of a file of the data directory.
func kindOf(p string) string {
	room, _, _ := strings.Cut(strings.TrimPrefix(p, "/data/"), "/")
	room, _, _ = strings.Cut(room, "-")
	name := path.Base(p)
	switch {
	case path.Ext(name) == ".sst" || path.Ext(name) == ".log" || path.Ext(name) == ".blob":
		return room + "/*" + path.Ext(name)
	case strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, "OPTIONS-"):
		return room + "/" + strings.Split(name, "-")[0]
	case room == name:
		return name
	default:
		return room + "/" + name
	}
}

// read returns a file's content.
func read(t *testing.T, fs vfs.FS, p string) []byte {
	t.Helper()
	f, err := fs.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return raw
}

// found is what a member with a flipped bit did.
type found int

const (
	refusedToStart found = iota // it did not start, or stopped with a reason
	refusedToRead               // some reads failed, the others were right
	harmless                    // all is as it was
	shortened                   // the end of the log is missing, as after a crash before it was synced
	wrong                       // something is not what was acknowledged
)

const flipKeys = 60

// walBlockBytes is the length of a block in Pebble's write-ahead log.
const walBlockBytes = 32 << 10

// flipWants is what the member of the flip sweep holds at the end, and at every revision before.
func flipWants(revision uint64) map[string]string {
	want := map[string]string{}
	for i := range min(revision, flipKeys*3) {
		want[fmt.Sprintf("k%d", i%flipKeys)] = flipValue(i)
	}
	return want
}

func flipValue(i uint64) string {
	return fmt.Sprintf("%d-%s", i, strings.Repeat(fmt.Sprint(i%7), 1500))
}

// look starts a member on a disk and reads everything.
func look(fs vfs.FS) (found, error) {
	n, err := raftnode.Open(raftnode.WithLogMemTable(raftnode.Options{FS: fs, Dir: "/data"}, 1<<20))
	if err != nil {
		return refusedToStart, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = n.Run(ctx) // Why it ended does not matter here.
	}()
	defer func() {
		cancel()
		<-over
	}()
	call, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	led := make(chan error, 1)
	go func() { led <- n.ReadIndex(call) }()
	select {
	case err = <-led:
		if err != nil {
			return refusedToStart, nil
		}
	case <-over:
		return refusedToStart, nil
	}
	r := n.Store().NewReader()
	defer func() { _ = r.Close() }()
	a, err := r.Applied()
	if err != nil {
		return refusedToRead, nil
	}
	result := harmless
	if a.Revision < flipKeys*3 {
		result = shortened
	}
	if a.Revision > flipKeys*3 {
		return wrong, fmt.Errorf("revision is %d", a.Revision)
	}
	want := flipWants(a.Revision)
	for i := range flipKeys {
		key := fmt.Sprintf("k%d", i)
		st, ok, err := r.Get(key)
		switch {
		case err != nil:
			result = refusedToRead
		case ok != (want[key] != "") || ok && string(st.GetValue()) != want[key]:
			return wrong, fmt.Errorf("%s is %t %.40q at revision %d", key, ok, st.GetValue(), a.Revision)
		}
	}
	return result, nil
}

// A flipped bit in any file is found, or harmless; never is anything served that was not written. A member that votes
// alone cannot tell damage in the last block of its log from an end that was not synced when it crashed, so what was not in
// the state machine's files yet may be missing there; peers would know.
func TestFlippedBits(t *testing.T) {
	base := vfs.NewCrashableMem()
	m := start(t, raftnode.WithLogMemTable(raftnode.Options{
		FS: base, Dir: "/data", CheckpointLogBytes: 1 << 40, Snapshots: raftnode.SnapshotOptions{TailEntries: 20},
	}, 1<<20))
	for i := range uint64(flipKeys * 3) {
		propose(t, m.Node, put(fmt.Sprintf("k%d", i%flipKeys), flipValue(i)))
		if i == flipKeys*2 {
			if err := m.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			raftnode.CutLog(t, m.Node)
		}
	}
	// As after a crash: the end of the log is not in the state machine's files.
	disk := base.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	if got, err := look(disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})); got != harmless {
		t.Fatalf("undamaged: got %v, %v", got, err)
	}
	perFile := 12
	if testing.Short() || raceDetector {
		perFile = 3
	}
	rng := rand.New(rand.NewPCG(7, 7))
	table := map[string]map[found]int{}
	for _, p := range files(t, disk, "/data") {
		kind := kindOf(p)
		if table[kind] == nil {
			table[kind] = map[found]int{}
		}
		raw := read(t, disk, p)
		for range perFile {
			bit := rng.IntN(8 * len(raw))
			fs := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
			flipped := slices.Clone(raw)
			flipped[bit/8] ^= 1 << (bit % 8)
			if err := datadir.WriteFile(fs, path.Dir(p), path.Base(p), flipped); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(p, "/data/snap/") {
				// These are for others, who look themselves.
				dir := "/data/snap/" + strings.Split(p, "/")[3]
				if _, err := checkpoint.Verify(fs, dir); !errors.Is(err, checkpoint.ErrInvalid) {
					t.Errorf("bit %d of %s: a damaged checkpoint is given to others: %v", bit, p, err)
				}
			}
			tables := stateTables(t, fs)
			got, err := look(fs)
			table[kind][got]++
			if got == refusedToStart {
				keptTables(t, fs, tables, p)
			}
			// Pebble finds damage by what was synced in a later block.
			lastBlock := bit/8 >= (len(raw)-1)/walBlockBytes*walBlockBytes
			if got == wrong || got == shortened && (kind != "log/*.log" || !lastBlock) {
				t.Errorf("bit %d of %s: outcome %d: %v", bit, p, got, err)
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		of := table[kind]
		t.Logf("%-20s refused to start %3d, to read %3d, harmless %3d, shortened %3d, wrong %d",
			kind, of[refusedToStart], of[refusedToRead], of[harmless], of[shortened], of[wrong])
	}
	for _, kind := range []string{
		"FORMAT", "CURRENT", "log/*.log", "log/MANIFEST", "log/OPTIONS", "sm/*.sst", "sm/MANIFEST", "sm/OPTIONS",
		"snap/*.sst", "snap/MANIFEST.json",
	} {
		if len(table[kind]) == 0 {
			t.Errorf("no file of kind %s was flipped", kind)
		}
	}
}
