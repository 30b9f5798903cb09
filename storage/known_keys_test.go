package storage_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// keyedCalls makes commands with idempotency keys.
type keyedCalls struct {
	rng  *rand.Rand
	made uint64
}

// next returns a command with a key: mostly a new one, else one of before, of which some are forgotten, from the same caller or from another
// one, and some with another request.
func (c *keyedCalls) next() *storev1.Command {
	n := c.made
	if c.made > 0 && c.rng.IntN(8) == 0 {
		n = uint64(c.rng.Int64N(int64(c.made)))
	} else {
		c.made++
	}
	cmd := putCommand(fmt.Sprint("k", c.rng.IntN(50)), fmt.Sprint(n))
	if c.rng.IntN(9) == 0 {
		cmd.GetPut().IfRevision = new(uint64(1)) // It fails, and that is remembered.
	}
	digest := sha256.Sum256(fmt.Append(nil, n, c.rng.IntN(20) == 0))
	cmd.IdempotencyKey, cmd.RequestDigest = fmt.Appendf(nil, "sixteen bytes or more %d", n), digest[:]
	if c.rng.IntN(3) == 0 {
		cmd.Principal = fmt.Sprint("token:", n%3)
	}
	return cmd
}

// log returns entries of such commands. Between them the limits change, and what is above them is forgotten by compaction.
func (c *keyedCalls) log(entries int) []storage.Entry {
	var log []storage.Entry
	for i := range entries {
		env := &storev1.Envelope{}
		for range 1 + c.rng.IntN(40) {
			env.Commands = append(env.Commands, c.next())
		}
		switch c.rng.IntN(12) {
		case 0:
			limits := &storev1.Limits{IdempotencyKeysMax: new([]uint32{1, 60, 64, 65, 300, 2000}[c.rng.IntN(6)])}
			if c.rng.IntN(3) == 0 {
				limits.IdempotencyBytesMax = new(uint64(1 + c.rng.IntN(100_000)))
			}
			env.Commands = append(env.Commands, &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: limits, Force: true}}})
			fallthrough
		case 1:
			compact := c.next()
			compact.Kind = &storev1.Command_Compact{Compact: &storev1.Compact{Revision: uint64(c.rng.IntN(100))}}
			env.Commands = append(env.Commands, compact)
		}
		data, err := storage.EncodeEnvelope(env)
		if err != nil {
			panic(err)
		}
		log = append(log, storage.Entry{Index: uint64(i + 2), Term: 1, Data: data})
	}
	return log
}

// keyedState is what a store answered to an entry, and what it was then.
type keyedState struct {
	results []*storev1.Result
	applied storage.Applied
}

// TestKnownKeysHaveNoPartInWhatIsDone applies calls with idempotency keys to a store that knows which there are, which forgets that with each
// crash and when there are too many, and to one that looks each up on disk. Results, account and rows are the same.
func TestKnownKeysHaveNoPartInWhatIsDone(t *testing.T) {
	needsNoRaceDetector(t)
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	oldest, newest := storage.ClusterVersions()
	for version := oldest; version <= newest; version++ {
		for seed := range seeds {
			t.Run(fmt.Sprintf("version %d seed %d", version, seed), func(t *testing.T) { checkKnownKeys(t, seed, version) })
		}
	}
}

func checkKnownKeys(t *testing.T, seed uint64, version uint32) {
	t.Helper()
	const most = 100
	rng := rand.New(rand.NewPCG(seed, uint64(version)))
	log := (&keyedCalls{rng: rng}).log(200)
	plain := newStoreOf(t, vfs.NewMem(), "sm", version)
	plain.KnowKeys(-1)
	var want []keyedState
	for _, e := range log {
		want = append(want, applyKeyed(t, plain, e)[0])
	}
	fs := vfs.NewCrashableMem()
	knows := newStoreOf(t, fs, "sm", version)
	knows.KnowKeys(most)
	known, crashes, forgot := 0, 0, 0
	disk := rand.New(rand.NewPCG(seed, 1))
	for next, applies := 0, 1; next < len(log); applies++ {
		n := min(1+rng.IntN(8), len(log)-next)
		got := applyKeyed(t, knows, log[next:next+n]...)
		for i, one := range got {
			for c, result := range one.results {
				if !proto.Equal(result, want[next+i].results[c]) {
					t.Fatalf("entry %d: a call got %v, want %v", next+i, result, want[next+i].results[c])
				}
			}
		}
		next += n
		if got := knows.Applied(); !reflect.DeepEqual(got, want[next-1].applied) {
			t.Fatalf("entry %d: got %+v, want %+v", next-1, got, want[next-1].applied)
		}
		switch now := knows.KnownKeys(); {
		case now > 2*most:
			t.Fatalf("entry %d: %d keys are known, want %d at most", next-1, now, 2*most)
		case now == 0 && known > 0:
			forgot++
			known = 0
		default:
			known = now
		}
		switch {
		case applies%5 == 0:
			if err := knows.Flush(); err != nil {
				t.Fatal(err)
			}
		case applies%7 == 0:
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: disk})
			closeStore(t, knows)
			fs, knows = clone, openStore(t, clone, "sm")
			knows.KnowKeys(most)
			next = int(knows.Applied().Index - 1)
			crashes++
		}
	}
	if crashes < 3 || forgot < 1 {
		t.Errorf("%d crashes, and the keys were unlearned %d times: too few to show anything", crashes, forgot)
	}
	(&rig{t: t, store: knows}).checkBytes()
	if got, want := dumpOf(t, knows), dumpOf(t, plain); got != want {
		t.Fatalf("got dump\n%s\nwant\n%s", got, want)
	}
}

// applyKeyed applies entries, and returns what came of each; the account is that after all.
func applyKeyed(t *testing.T, s *storage.Store, entries ...storage.Entry) []keyedState {
	t.Helper()
	out, err := s.Apply(entries)
	if err != nil {
		t.Fatal(err)
	}
	var states []keyedState
	for _, e := range out.Entries {
		states = append(states, keyedState{e.Results, out.Applied})
	}
	return states
}
