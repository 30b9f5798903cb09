package storage_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// generator makes random commands over few keys and sessions, so that they meet. It looks at a store to name what is
// there: delayed holds, lock indexes, revisions.
type generator struct {
	t     *testing.T
	rng   *rand.Rand
	store *storage.Store
	term  uint64
	next  uint64 // number of the next session
	alive []uint64

	breaks []*storev1.BreakLock // that go on

	requests uint64             // number of the last request id
	sent     []*storev1.Command // that may be sent again
}

func newGenerator(t *testing.T, seed uint64, store *storage.Store) *generator {
	t.Helper()
	return &generator{t: t, rng: newRNG(seed), store: store, term: 1}
}

func newRNG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// someEnvelope returns an envelope with commands that need no look at a store.
func (g *generator) someEnvelope() *storev1.Envelope {
	env := &storev1.Envelope{}
	for range 3 {
		env.Commands = append(env.Commands,
			&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: g.createSession()}},
			&storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: g.acquire()}},
			&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: g.key(), Value: g.value(), Acquire: g.ref()}}},
			&storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{Key: g.key(), Session: g.ref()}}},
			&storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{
				{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: g.key()}}},
			}}}},
		)
	}
	return env
}

func numberedID(n uint64) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], n)
	return b[:]
}

func (g *generator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }

func (g *generator) key() string {
	keys := []string{"a", "a\x00", "a/b", "ab", "b", "b\xc3\xa9", "c"}
	return keys[g.rng.IntN(len(keys))]
}

// session returns the number of a session: mostly one that may live.
func (g *generator) session() uint64 {
	if len(g.alive) == 0 || g.oneIn(30) {
		return uint64(g.rng.IntN(int(g.next) + 2))
	}
	return g.alive[g.rng.IntN(len(g.alive))]
}

func (g *generator) ref() *storev1.SessionRef {
	ref := &storev1.SessionRef{SessionId: numberedID(g.session())}
	if g.oneIn(4) {
		ref.Epoch = uint64(1 + g.rng.IntN(2))
	}
	return ref
}

func (g *generator) value() []byte {
	return fmt.Appendf(nil, "%d", g.rng.IntN(1000))
}

// ifRevision returns a wanted revision: often none, else right, wrong, or zero.
func (g *generator) ifRevision(key string) *uint64 {
	if !g.oneIn(4) {
		return nil
	}
	r := g.store.NewReader()
	defer g.close(r)
	k, _, err := r.Get(key)
	if err != nil {
		g.t.Fatal(err)
	}
	switch g.rng.IntN(3) {
	case 0:
		return new(uint64(0))
	case 1:
		return new(k.GetModRevision() + 1)
	default:
		return new(k.GetModRevision())
	}
}

func (g *generator) close(r *storage.Reader) {
	if err := r.Close(); err != nil {
		g.t.Fatal(err)
	}
}

// command returns a random command, perhaps with guards or as a request that may be retried. Rarely it is an earlier
// command again.
func (g *generator) command() *storev1.Command {
	if len(g.sent) > 0 && g.oneIn(15) {
		return proto.CloneOf(g.sent[g.rng.IntN(len(g.sent))])
	}
	cmd := g.plain()
	for g.oneIn(8) {
		cmd.Guards = append(cmd.Guards, g.guard())
	}
	switch {
	case g.oneIn(5):
		g.requests++
		sequence := g.requests - min(g.requests-1, uint64(g.rng.IntN(12)))
		ref := &storev1.RequestID{SessionId: numberedID(g.session()), Epoch: uint64(1 + g.rng.IntN(2)), Sequence: sequence}
		if g.oneIn(3) {
			ref.DoneBelow = sequence - min(sequence, uint64(g.rng.IntN(6)))
		}
		cmd.RequestId = ref
	case g.oneIn(12):
		cmd.IdempotencyKey = fmt.Appendf(nil, "key of 16 bytes %d", g.rng.IntN(1000))
	default:
		return cmd
	}
	digest := sha256.Sum256(fmt.Append(nil, cmd.GetIdempotencyKey(), g.rng.IntN(50)))
	cmd.RequestDigest = digest[:]
	g.sent = append(g.sent, cmd)
	g.sent = g.sent[max(0, len(g.sent)-30):]
	return cmd
}

// plain returns a random command without anything around it.
func (g *generator) plain() *storev1.Command {
	cmd := &storev1.Command{WallTimeMs: g.rng.Int64N(1 << 40)}
	switch n := g.rng.IntN(200); {
	case n < 16 || len(g.alive) < 3:
		cmd.Kind = &storev1.Command_CreateSession{CreateSession: g.createSession()}
	case n < 26:
		g.endSession(cmd)
	case n < 40:
		cmd.Kind = &storev1.Command_EndDelays{EndDelays: g.endDelays()}
	case n < 46:
		key := g.key()
		cmd.Kind = &storev1.Command_Delete{Delete: &storev1.Delete{
			Key: key, IfRevision: g.ifRevision(key), DropHolds: g.oneIn(2),
		}}
	case n < 48:
		d := &storev1.DeletePrefix{Prefix: g.key(), DropHolds: g.oneIn(2)}
		if g.oneIn(2) {
			d.KeysMax = uint32(1 + g.rng.IntN(2))
		}
		cmd.Kind = &storev1.Command_DeletePrefix{DeletePrefix: d}
	case n < 51:
		cmd.Kind = &storev1.Command_Compact{Compact: g.compact()}
	case n < 52:
		_, newest := storage.ClusterVersions()
		cmd.Kind = &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}
	case n < 90:
		cmd.Kind = &storev1.Command_Put{Put: g.put()}
	case n < 105:
		cmd.Kind = &storev1.Command_Txn{Txn: g.txn()}
	default:
		g.lockCommand(cmd)
	}
	return cmd
}

func (g *generator) createSession() *storev1.CreateSession {
	n := g.next
	if g.oneIn(20) && n > 0 {
		n = uint64(g.rng.IntN(int(n)))
	} else {
		g.next++
		g.alive = append(g.alive, n)
	}
	s := &storev1.CreateSession{
		SessionId:   numberedID(n),
		Name:        fmt.Sprintf("n%d", n),
		TtlMs:       g.rng.Int64N(20_000),
		Behavior:    storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		LockDelayMs: g.rng.Int64N(3) * 1000,
	}
	if g.oneIn(3) {
		s.Behavior = storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	}
	if g.oneIn(4) {
		s.SecretSha256 = make([]byte, sha256.Size)
	}
	return s
}

// endSession makes the command end one session or several.
func (g *generator) endSession(cmd *storev1.Command) {
	var ids [][]byte
	for range 1 + g.rng.IntN(3) {
		ids = append(ids, numberedID(g.session()))
	}
	if g.oneIn(2) {
		cmd.Kind = &storev1.Command_ExpireSessions{ExpireSessions: &storev1.ExpireSessions{
			Term: g.decidedIn(), SessionIds: ids,
		}}
		return
	}
	cmd.Kind = &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: ids[0]}, Clean: g.oneIn(2), Force: g.oneIn(3), Reason: "why",
	}}
}

// forget drops sessions that live no more from those to choose from.
func (g *generator) forget() {
	r := g.store.NewReader()
	defer g.close(r)
	alive := g.alive[:0]
	for _, n := range g.alive {
		_, ok, err := r.Session(storage.SessionID(numberedID(n)))
		if err != nil {
			g.t.Fatal(err)
		}
		if ok {
			alive = append(alive, n)
		}
	}
	g.alive = alive
}

func (g *generator) endDelays() *storev1.EndDelays {
	r := g.store.NewReader()
	defer g.close(r)
	delays, err := r.Delays()
	if err != nil {
		g.t.Fatal(err)
	}
	e := &storev1.EndDelays{Term: g.decidedIn()}
	for _, d := range delays {
		if g.oneIn(2) {
			e.Delays = append(e.Delays, &storev1.DelayRef{Key: d.Key, LockIndex: d.LockIndex, FencingToken: d.FencingToken})
		}
	}
	e.Delays = append(e.Delays, &storev1.DelayRef{Key: g.key(), LockIndex: 1, FencingToken: 1})
	return e
}

// decidedIn returns the term, or rarely the one before.
func (g *generator) decidedIn() uint64 {
	if g.oneIn(20) {
		return g.term - 1
	}
	return g.term
}

func (g *generator) compact() *storev1.Compact {
	a := g.store.Applied()
	c := &storev1.Compact{EventsMax: uint32(g.rng.IntN(20))}
	if g.oneIn(4) { // Mostly compacted already.
		c.Revision = uint64(g.rng.Int64N(int64(a.Revision) + 1))
		return c
	}
	c.Revision = a.CompactedRevision + uint64(g.rng.Int64N(int64(a.Revision-a.CompactedRevision)+2))
	return c
}

func (g *generator) put() *storev1.Put {
	key := g.key()
	p := &storev1.Put{Key: key, Value: g.value(), Flags: uint64(g.rng.IntN(3)), IfRevision: g.ifRevision(key)}
	switch g.rng.IntN(6) {
	case 0, 1:
		p.Acquire = g.ref()
	case 2:
		p.Release = g.ref()
		p.Force = g.oneIn(4)
	case 3:
		p.BindSession = g.ref()
	}
	p.Sequential = g.oneIn(40)
	return p
}

// entry marshals commands into an entry.
func (g *generator) entry(index uint64, commands []*storev1.Command) storage.Entry {
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Proposer: 1, Sequence: index, Commands: commands})
	if err != nil {
		g.t.Fatal(err)
	}
	return storage.Entry{Index: index, Term: g.term, Data: data}
}

// randomLog applies n random entries to a store of the oldest version, which they raise at some time, and returns them,
// with the store. Who applies them again does so to an oldStore.
func randomLog(t *testing.T, seed uint64, n int) ([]storage.Entry, *storage.Store) {
	t.Helper()
	store := oldStore(t, vfs.NewMem(), "live")
	g := newGenerator(t, seed, store)
	var log []storage.Entry
	for i := range n {
		if g.oneIn(50) {
			g.term++
		}
		e := storage.Entry{Index: uint64(i + 2), Term: g.term}
		switch {
		case g.oneIn(40):
			e.ConfState = fmt.Appendf(nil, "conf %d", i)
		case !g.oneIn(30):
			commands := make([]*storev1.Command, 1+g.rng.IntN(4))
			for j := range commands {
				commands[j] = g.command()
			}
			e = g.entry(e.Index, commands)
		}
		log = append(log, e)
		if _, err := store.Apply([]storage.Entry{e}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		g.forget()
		if i%100 == 99 {
			if _, err := store.CheckVoids(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	if voids, err := store.CheckVoids(); err != nil || n >= 300 && voids == 0 {
		t.Fatalf("seed %d: got %d voids, %v, want some without rows", seed, voids, err)
	}
	return log, store
}

// newStore returns a bootstrapped store of the newest cluster version that is closed at the end of the test.
func newStore(t *testing.T, fs vfs.FS, dir string) *storage.Store {
	t.Helper()
	_, newest := storage.ClusterVersions()
	return newStoreOf(t, fs, dir, newest)
}

// oldStore is newStore with the oldest cluster version.
func oldStore(t *testing.T, fs vfs.FS, dir string) *storage.Store {
	t.Helper()
	oldest, _ := storage.ClusterVersions()
	return newStoreOf(t, fs, dir, oldest)
}

func newStoreOf(t *testing.T, fs vfs.FS, dir string, version uint32) *storage.Store {
	t.Helper()
	store := openStore(t, fs, dir)
	if err := store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, ClusterVersion: version}); err != nil {
		t.Fatal(err)
	}
	return store
}

// openStore opens a store that is closed at the end of the test, if it is not before.
func openStore(t *testing.T, fs vfs.FS, dir string) *storage.Store {
	t.Helper()
	store, err := storage.Open(storage.Options{FS: fs, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil && !errors.Is(err, storage.ErrClosed) {
			t.Error(err)
		}
	})
	return store
}
