package transfer_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/transfer"
)

// content is what a checkpoint consists of, by file.
type content map[string]string

// raw returns the manifest of a checkpoint with so much content.
func (c content) raw(t *testing.T, index uint64) []byte {
	t.Helper()
	files := map[string][]byte{}
	for name, text := range c {
		files[name] = []byte(text)
	}
	_, _, raw := made(t, index, files)
	return raw
}

// bring begins to receive a checkpoint, and brings what is missing of some of its files, in order. It returns how many bytes
// were brought and how many were reused.
func bring(t *testing.T, in *transfer.Inbox, c content, index uint64, files ...string) (r *transfer.Reception, brought int) {
	t.Helper()
	r, err := in.Begin(c.raw(t, index))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int{}
	for _, p := range r.Have {
		have[p.GetFile()] = int(p.GetSizeBytes())
	}
	for _, name := range files {
		rest := c[name][have[name]:]
		if rest == "" {
			continue
		}
		if err = r.Chunk(chunk(name, have[name], []byte(rest), true)); err != nil {
			t.Fatal(err)
		}
		brought += len(rest)
	}
	return r, brought
}

func (c content) names() []string { return slices.Sorted(maps.Keys(c)) }

// check fails unless a directory holds exactly the checkpoint.
func (c content) check(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	if _, err := checkpoint.Verify(fs, dir); err != nil {
		t.Error(err)
	}
	for name, want := range c {
		if got, err := datadir.ReadFile(fs, dir+"/data/"+name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

var (
	older = content{"1.sst": "one", "2.sst": "two of older", "3.sst": "three", "4.sst": "four"}
	// newer has files of the same name and size that are others.
	newer = content{"1.sst": "one", "2.sst": "two of newer", "3.sst": "three", "4.sst": "four", "5.sst": "five"}
)

// A newer snapshot does not begin anew: what was received of the one before is used, and of a file that was begun the rest
// is asked for.
func TestANewerSnapshotIsADelta(t *testing.T) {
	restart := func(t *testing.T, in *transfer.Inbox, fs vfs.FS) *transfer.Inbox {
		t.Helper()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		in, err := transfer.OpenInbox(fs, "/in", nil)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	tests := map[string]func(t *testing.T, in *transfer.Inbox, fs vfs.FS) *transfer.Inbox{
		"in the same process": func(_ *testing.T, in *transfer.Inbox, _ vfs.FS) *transfer.Inbox { return in },
		"after a restart":     restart,
	}
	for name, between := range tests {
		t.Run(name, func(t *testing.T) {
			in, fs := inbox(t)
			r, _ := bring(t, in, older, 7, "1.sst", "2.sst")
			if err := r.Chunk(chunk("3.sst", 0, []byte("thr"), false)); err != nil {
				t.Fatal(err)
			}
			in = between(t, in, fs)
			second, brought := bring(t, in, newer, 9, newer.names()...)
			if want := int64(len("one" + "thr")); second.ReusedBytes != want {
				t.Errorf("reused %d bytes, want %d", second.ReusedBytes, want)
			}
			if want := len("two of newer" + "ee" + "four" + "five"); brought != want || second.MissingBytes != int64(want) {
				t.Errorf("brought %d bytes of %d missing, want %d", brought, second.MissingBytes, want)
			}
			complete, err := second.Finish()
			if err != nil {
				t.Fatal(err)
			}
			newer.check(t, fs, "/in/"+complete)
			if names, err := fs.List("/in"); err != nil || len(names) != 1 {
				t.Errorf("in the inbox: got %v %v, want the complete one", names, err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A snapshot that is complete lends its files to the next, and keeps them.
func TestACompleteSnapshotLendsItsFiles(t *testing.T) {
	in, fs := inbox(t)
	r, _ := bring(t, in, older, 7, older.names()...)
	first, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	r, brought := bring(t, in, newer, 9, newer.names()...)
	if want := len("two of newer" + "five"); brought != want {
		t.Errorf("brought %d bytes, want %d", brought, want)
	}
	second, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	older.check(t, fs, "/in/"+first)
	newer.check(t, fs, "/in/"+second)
}

// The newest checkpoint of the member's own state lends its files, which stay as they are.
func TestTheOwnStateLendsItsFiles(t *testing.T) {
	fs := vfs.NewMem()
	own, err := checkpoint.OpenCatalogue(fs, "/snap")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := own.Make(func(dir string) (*checkpoint.Manifest, error) {
		if err = fs.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for name, text := range older {
			if err = datadir.WriteFile(fs, dir, name, []byte(text)); err != nil {
				return nil, err
			}
		}
		return &checkpoint.Manifest{Index: 7, Term: 1, ConfState: []byte("members")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	in, err := transfer.OpenInbox(fs, "/in", own)
	if err != nil {
		t.Fatal(err)
	}
	r, brought := bring(t, in, newer, 9, newer.names()...)
	if want := len("two of newer" + "five"); brought != want || r.ReusedBytes != int64(len("one"+"three"+"four")) {
		t.Errorf("brought %d bytes and reused %d, want %d brought", brought, r.ReusedBytes, want)
	}
	name, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	newer.check(t, fs, "/in/"+name)
	older.check(t, fs, kept.Path())
}

// A file that is here and not what its checksum says is found before the snapshot counts as complete, and is sent again; only
// this one. Where it came from it stays as it was.
func TestWhatIsDamagedIsSentAgain(t *testing.T) {
	in, fs := inbox(t)
	r, _ := bring(t, in, older, 7, older.names()...)
	first, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err = datadir.WriteFile(fs, "/in/"+first+"/data", "3.sst", []byte("THREE")); err != nil {
		t.Fatal(err)
	}
	r, _ = bring(t, in, newer, 9, newer.names()...)
	if _, err = r.Finish(); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Fatalf("finish: got %v, want %v", err, checkpoint.ErrInvalid)
	}
	// The sender may have another checkpoint now. The damaged file is still in the first snapshot.
	newest := maps.Clone(newer)
	newest["6.sst"] = "six"
	for _, c := range []content{newer, newest} {
		index := uint64(len(c)) + 5
		r, err = in.Begin(c.raw(t, index))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Have {
			if p.GetFile() == "3.sst" {
				t.Errorf("the damaged file is used again: %v", r.Have)
			}
		}
		if r.MissingBytes > int64(len("three"+"six")) {
			t.Errorf("%d bytes are missing, want those of one file", r.MissingBytes)
		}
	}
	r, brought := bring(t, in, newest, uint64(len(newest))+5, newest.names()...)
	if want := len("three" + "six"); brought != want {
		t.Errorf("brought %d bytes, want %d", brought, want)
	}
	second, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	newest.check(t, fs, "/in/"+second)
	if got, err := datadir.ReadFile(fs, "/in/"+first+"/data/3.sst"); err != nil || string(got) != "THREE" {
		t.Errorf("the first snapshot's file: got %q, %v", got, err)
	}
}

// What the state has passed is removed, whether it is complete, was being received, or is of an earlier process.
func TestWhatIsPassedIsRemoved(t *testing.T) {
	in, fs := inbox(t)
	bring(t, in, older, 7, "1.sst")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fs.MkdirAll("/in/half/data", 0o700); err != nil { // A crash came before the manifest.
		t.Fatal(err)
	}
	in, err := transfer.OpenInbox(fs, "/in", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if names, err = fs.List("/in"); err != nil || len(names) != 1 {
		t.Errorf("after a restart: got %v, %v, want what has a manifest", names, err)
	}
	for _, step := range []struct{ applied, want int }{{6, 1}, {7, 0}} {
		if err = in.Clean(uint64(step.applied)); err != nil {
			t.Fatal(err)
		}
		if names, err = fs.List("/in"); err != nil || len(names) != step.want {
			t.Errorf("applied %d: got %v, %v, want %d", step.applied, names, err, step.want)
		}
	}
	r, _ := bring(t, in, newer, 9, "1.sst")
	if err = in.Clean(9); err != nil {
		t.Fatal(err)
	}
	if err = r.Chunk(chunk("3.sst", 0, []byte("three"), true)); !errors.Is(err, transfer.ErrSuperseded) {
		t.Errorf("a stream that is passed: got %v, want %v", err, transfer.ErrSuperseded)
	}
	if names, err := fs.List("/in"); err != nil || len(names) != 0 {
		t.Errorf("got %v, %v, want nothing", names, err)
	}
}

// A crash before any write of the reception of two snapshots, of which the second uses what came of the first, leaves an inbox
// in which the second is received whole, whatever of the unsynced data survives.
func TestCrashesDuringReuse(t *testing.T) {
	mem := vfs.NewCrashableMem()
	rng := rand.New(rand.NewPCG(7, 7))
	var crashed []vfs.FS
	fs := errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			for _, survives := range []int{0, 50, 100} {
				crashed = append(crashed, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: survives, RNG: rng}))
			}
		}
		return nil
	}))
	in, err := transfer.OpenInbox(fs, "/in", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := bring(t, in, older, 7, "1.sst", "2.sst")
	if err = r.Chunk(chunk("3.sst", 0, []byte("thr"), false)); err != nil {
		t.Fatal(err)
	}
	r, _ = bring(t, in, newer, 9, newer.names()...)
	if _, err = r.Finish(); err != nil {
		t.Fatal(err)
	}
	if err = in.Clean(9); err != nil {
		t.Fatal(err)
	}
	reused, whole := 0, 0
	for i, fs := range crashed {
		in, err := transfer.OpenInbox(fs, "/in", nil)
		if err != nil {
			t.Fatalf("crash point %d: %v", i, err)
		}
		r, brought := bring(t, in, newer, 9, newer.names()...)
		if r.ReusedBytes > 0 {
			reused++
		}
		name, err := r.Finish()
		if errors.Is(err, checkpoint.ErrInvalid) {
			// What was not synced may be here with other content; it comes again.
			var again int
			r, again = bring(t, in, newer, 9, newer.names()...)
			brought += again
			name, err = r.Finish()
		}
		if err != nil {
			t.Fatalf("crash point %d: %v", i, err)
		}
		if brought == 0 {
			whole++
		}
		newer.check(t, fs, "/in/"+name)
		if names, err := fs.List("/in"); err != nil || len(names) != 1 {
			t.Errorf("crash point %d: got %v, %v, want one snapshot", i, names, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d crash points, something was reused after %d of them, and nothing had to be sent after %d", len(crashed), reused, whole)
	if reused == 0 || whole == 0 || reused == len(crashed) {
		t.Error("crash points on one side only")
	}
}
