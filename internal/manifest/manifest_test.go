package manifest_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/internal/manifest"
)

const (
	made  = "MANIFEST-000001"
	later = "MANIFEST-000008"
)

// written returns a MANIFEST with records of the given lengths, and where each of them ends.
func written(t *testing.T, lengths ...int) (raw []byte, ends []int) {
	t.Helper()
	var b bytes.Buffer
	w := record.NewWriter(&b)
	rng := rand.New(rand.NewPCG(4, 4))
	for _, n := range lengths {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.IntN(256))
		}
		if _, err := w.WriteRecord(p); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, b.Len())
	}
	return b.Bytes(), ends
}

func create(t *testing.T, fs vfs.FS, name string, raw []byte) {
	t.Helper()
	f, err := fs.Create("sm/"+name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(slices.Clone(raw)) // A file of Pebble's may change what it is given.
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// found is what Check says of a MANIFEST.
type found int

const (
	whole found = iota
	torn
	damaged
)

func check(t *testing.T, name string, raw []byte) found {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("sm", 0o755); err != nil {
		t.Fatal(err)
	}
	create(t, fs, name, raw)
	create(t, fs, "marker.manifest.000003."+name, nil)
	end, err := manifest.Check(fs, "sm")
	var d *manifest.DamagedError
	switch {
	case errors.As(err, &d):
		if d.Path != "sm/"+name || !strings.HasPrefix(err.Error(), d.Path+": ") {
			t.Errorf("got %v, want an error that names %s", err, name)
		}
		return damaged
	case err != nil:
		t.Fatal(err)
	case end.Torn:
		return torn
	}
	return whole
}

// shapes are lengths of records: within one block, up to the last bytes of one, and across several.
var shapes = map[string][]int{
	"short records":             {40, 120, 7, 4, 300, 90},
	"a record fills its block":  {40, 32<<10 - 47 - 7, 90, 90},
	"no room for a header":      {40, 32<<10 - 47 - 7 - 3, 90, 90},
	"records that cross blocks": {100, 70 << 10, 40 << 10, 33 << 10, 50 << 10},
}

// What a crash leaves is never taken for damage: the last record may be missing, or any part of it.
func TestATornRecordIsNoDamage(t *testing.T) {
	for shape, lengths := range shapes {
		raw, ends := written(t, lengths...)
		for name, least := range map[string]int{made: 1, later: 2} {
			for i := least; i < len(ends); i++ {
				if got := check(t, name, raw[:ends[i-1]]); got != whole {
					t.Errorf("%s: %d records of %s: got %d", shape, i, name, got)
				}
				last := ends[i] - ends[i-1]
				for _, n := range []int{1, 6, 7, 8, last / 2, last - 1} {
					if n < 1 || n >= last {
						continue
					}
					cut := slices.Clone(raw[:ends[i]])
					if got := check(t, name, cut[:ends[i-1]+n]); got != torn {
						t.Errorf("%s: %d bytes of record %d of %s: got %d", shape, n, i, name, got)
					}
					clear(cut[ends[i-1] : ends[i-1]+n])
					if got := check(t, name, cut); got != torn && !bytes.Equal(cut, raw[:ends[i]]) {
						t.Errorf("%s: record %d of %s without its first %d bytes: got %d", shape, i, name, n, got)
					}
				}
			}
		}
	}
}

// A key may look like a record, and be in one that is torn.
func TestAKeyThatLooksLikeARecordProvesNothing(t *testing.T) {
	key, _ := written(t, 50)
	var b bytes.Buffer
	w := record.NewWriter(&b)
	for _, p := range [][]byte{{1, 2}, {3, 4}, slices.Concat([]byte("a record with"), key, []byte("as a key"))} {
		if _, err := w.WriteRecord(p); err != nil {
			t.Fatal(err)
		}
	}
	raw := b.Bytes()
	raw[len(raw)-1] ^= 1
	if got := check(t, later, raw); got != torn {
		t.Errorf("got %d, want %d", got, torn)
	}
}

// A changed byte is damage wherever something was written behind it, and in what was synced before the file was used.
func TestAChangedByteIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for shape, lengths := range shapes {
		raw, ends := written(t, lengths...)
		lastBegins := ends[len(ends)-2]
		for range 200 {
			changed := slices.Clone(raw)
			at := rng.IntN(len(raw))
			changed[at] ^= byte(1 + rng.IntN(255))
			want := damaged
			if at >= lastBegins {
				want = torn
			}
			got := check(t, later, changed)
			filler := got == whole && raw[at] == 0 && 32<<10-at%(32<<10) < 7
			if got != want && !filler {
				t.Errorf("%s: byte %d: got %d, want %d", shape, at, got, want)
			}
		}
		for name, least := range map[string]int{made: 1, later: 2} {
			for _, n := range []int{0, 1, ends[least-1] / 2, ends[least-1] - 1} {
				if got := check(t, name, raw[:n]); got != damaged {
					t.Errorf("%s: %s cut to %d bytes: got %d", shape, name, n, got)
				}
			}
			changed := slices.Clone(raw[:ends[least-1]])
			changed[len(changed)-1] ^= 1
			if got := check(t, name, changed); got != damaged {
				t.Errorf("%s: the last byte that was synced before %s was used: got %d", shape, name, got)
			}
		}
	}
}

func TestAMissingFileIsFound(t *testing.T) {
	raw, _ := written(t, shapes["short records"]...)
	tests := map[string]struct {
		names   []string
		damaged string
	}{
		"nothing is there":               {nil, ""},
		"a crash when it was made":       {[]string{"LOCK", made}, ""},
		"a MANIFEST that is named":       {[]string{made, "marker.manifest.000001." + made}, ""},
		"the newest marker counts":       {[]string{later, "marker.manifest.000001." + made, "marker.manifest.000002." + later}, ""},
		"no marker beside a table":       {[]string{made, "000004.sst"}, "sm/marker.manifest.*"},
		"no marker beside a blob file":   {[]string{made, "000004.blob"}, "sm/marker.manifest.*"},
		"no marker beside the format's":  {[]string{made, "marker.format-version.000011.024"}, "sm/marker.manifest.*"},
		"the MANIFEST is missing":        {[]string{made, "marker.manifest.000002." + later}, "sm/" + later},
		"a marker that cannot be parsed": {[]string{made, "marker.manifest"}, "sm"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			if tt.names != nil {
				if err := fs.MkdirAll("sm", 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range tt.names {
				create(t, fs, name, raw)
			}
			_, err := manifest.Check(fs, "sm")
			var d *manifest.DamagedError
			if tt.damaged == "" && err != nil || tt.damaged != "" && (!errors.As(err, &d) || d.Path != tt.damaged) {
				t.Errorf("got %v, want damage of %q", err, tt.damaged)
			}
		})
	}
}

// A directory that can be listed once and no more tells of a disk that fails, not of damage.
func TestAListThatFailsIsNoDamage(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("sm", 0o755); err != nil {
		t.Fatal(err)
	}
	raw, _ := written(t, 10)
	create(t, mem, made, raw)
	create(t, mem, "marker.manifest.000001."+made, nil)
	gone := errors.New("disk is gone")
	for n := range 10 {
		reads := 0
		_, err := manifest.Check(errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return nil
			}
			if reads++; reads == n+1 {
				return gone
			}
			return nil
		})), "sm")
		if _, is := errors.AsType[*manifest.DamagedError](err); is || n == 0 && !errors.Is(err, gone) {
			t.Errorf("read %d fails: got %v, want the error of the disk", n+1, err)
		}
	}
}
