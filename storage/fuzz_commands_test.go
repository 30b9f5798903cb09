package storage_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// fuzzedCommandsMax bounds one fuzzed log.
const fuzzedCommandsMax = 60

// fuzzedSource makes the choices of a generator from bytes, two for each. The low bits are random, and so is all behind
// the last byte, for some choices are drawn again until they fit.
type fuzzedSource struct {
	data []byte
	low  *rand.PCG
}

// Uint64 returns the next choice.
func (s *fuzzedSource) Uint64() uint64 {
	low := s.low.Uint64()
	if len(s.data) < 2 {
		s.data = nil
		return low
	}
	high := binary.BigEndian.Uint16(s.data)
	s.data = s.data[2:]
	return uint64(high)<<48 | low>>16
}

// FuzzCommands lets bytes choose a log of every verb. It must not panic or fail, and a replica that gets it in other
// batches agrees. FuzzApply is the same for bytes that choose nothing but are the entry.
func FuzzCommands(f *testing.F) {
	for seed := range uint64(8) {
		rng := rand.NewChaCha8([32]byte{byte(seed)})
		data := make([]byte, 1024)
		_, _ = rng.Read(data)
		f.Add(data, uint64(0x5bd1))
	}
	f.Fuzz(func(t *testing.T, data []byte, cuts uint64) {
		live := oldStore(t, vfs.NewMem(), "live")
		source := &fuzzedSource{data: data, low: rand.NewPCG(1, 2)}
		g := newGenerator(t, 0, live)
		g.rng = rand.New(source)
		var log []storage.Entry
		for commands := 0; len(source.data) > 0 && commands < fuzzedCommandsMax; commands++ {
			batch := []*storev1.Command{g.command()}
			for range g.rng.IntN(3) {
				batch = append(batch, g.command())
			}
			entry := g.entry(uint64(len(log)+2), batch)
			log = append(log, entry)
			if _, err := live.Apply([]storage.Entry{entry}); err != nil {
				t.Fatal(err)
			}
			g.forget()
		}
		replica := oldStore(t, vfs.NewMem(), "replica")
		for from, i := 0, 0; i < len(log); i++ {
			if i+1 < len(log) && cuts>>(i%64)&1 == 0 {
				continue
			}
			if _, err := replica.Apply(log[from : i+1]); err != nil {
				t.Fatal(err)
			}
			from = i + 1
		}
		if live.Applied().Checksum != replica.Applied().Checksum {
			t.Errorf("got checksum %x, want %x", replica.Applied().Checksum, live.Applied().Checksum)
		}
		if got, want := dumpOf(t, replica), dumpOf(t, live); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
