package sim

import (
	"hash/fnv"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// truth is what somebody who sees all members at once knows.
type truth struct {
	w        *World
	history  *check.History
	revision uint64             // newest that any member has applied
	sums     map[uint64]sumAt   // checksum of the state at an index
	entries  map[uint64]entryAt // committed entries
	leaders  map[uint64]uint64  // who led in a term
	cursor   map[uint64]uint64  // newest index that a member has applied
	expiries []expiryInFlight
	pool     *poolTruth
	tokens   *tokenTruth
	syncs    *syncTruth
	requests *requestTruth
}

type sumAt struct {
	sum    uint64
	member uint64
}

type entryAt struct {
	term, hash, member uint64
}

func newTruth(w *World) *truth {
	t := &truth{
		w: w, history: &check.History{}, sums: map[uint64]sumAt{}, entries: map[uint64]entryAt{},
		leaders: map[uint64]uint64{}, cursor: map[uint64]uint64{},
	}
	t.pool, t.tokens, t.syncs, t.requests = newPoolTruth(t), newTokenTruth(w), newSyncTruth(w), newRequestTruth(w)
	return t
}

// expiryInFlight is an Expire that was proposed by a member in a term.
type expiryInFlight struct {
	member, term uint64
	at           time.Duration
}

// expiring notes that an Expire is on its way.
func (t *truth) expiring(r *life, sessions int) {
	t.w.floors.SessionsExpiring += sessions
	t.expiries = append(t.expiries, expiryInFlight{r.m.id, r.view.Lead().Term, t.w.now})
}

// leads notes who leads in a term: one, for ever.
func (t *truth) leads(member, term uint64) {
	if other, ok := t.leaders[term]; ok && other != member {
		t.w.violated("raft", "members %d and %d both lead in term %d", other, member, term)
	}
	t.leaders[term] = member
	for _, e := range t.expiries {
		// Proposed a moment before, in an earlier term, by whoever led then.
		if e.term < term && t.w.now-e.at < 3*time.Second {
			t.w.floors.ExpiriesAtChange++
		}
	}
	t.expiries = nil
	t.pool.leads(term)
	t.w.lastWords()
}

// committed compares the entries that members apply.
func (t *truth) committed(member uint64, work []*raftpb.Message) {
	for _, m := range work {
		for _, e := range m.GetEntries() {
			h := fnv.New64a()
			_, _ = h.Write(e.GetData())
			got := entryAt{e.GetTerm(), h.Sum64(), member}
			want, known := t.entries[e.GetIndex()]
			if !known {
				t.entries[e.GetIndex()] = got
				continue
			}
			if want.term != got.term || want.hash != got.hash {
				t.w.violated("raft", "entry %d is of term %d on member %d, and another one of term %d on member %d",
					e.GetIndex(), want.term, want.member, got.term, member)
				return
			}
		}
	}
}

// eachCommand visits the commands of applied entries behind an index, with their results, and returns the index of the last entry.
func (w *World) eachCommand(
	after uint64, work []*raftpb.Message, outcomes []storage.EntryOutcome, visit func(index uint64, cmd *storev1.Command, result *storev1.Result),
) uint64 {
	results := map[uint64][]*storev1.Result{}
	for _, o := range outcomes {
		if o.Index > after {
			results[o.Index] = o.Results
		}
	}
	for _, m := range work {
		for _, e := range m.GetEntries() {
			if e.GetIndex() <= after {
				continue
			}
			after = e.GetIndex()
			of := results[after]
			if len(of) == 0 {
				continue
			}
			env, err := storage.DecodeEnvelope(e.GetData())
			if err != nil {
				w.violated("log", "entry %d cannot be decoded: %v", after, err)
				return after
			}
			for i, cmd := range env.GetCommands() {
				visit(after, cmd, of[i])
			}
		}
	}
	return after
}

// applied takes what a member applied.
func (t *truth) applied(o storage.Outcome) {
	for _, e := range o.Events {
		if e.GetRevision() < t.revision || e.GetRevision() == t.revision && t.last().Index >= e.GetIndex() {
			continue
		}
		t.revision = e.GetRevision()
		c := check.FromStore(e)
		c.At = int64(t.w.now)
		t.history.Events = append(t.history.Events, c)
		t.pool.see(e, c, o.Entries)
		t.syncs.see(e)
	}
	t.syncs.judge(t.revision)
}

func (t *truth) last() *check.Event {
	if n := len(t.history.Events); n > 0 {
		return t.history.Events[n-1]
	}
	return &check.Event{}
}

// sum compares the checksum of a state that a member began with.
func (t *truth) sum(member uint64, a storage.Applied) { t.sumAt(member, a.Index, a.Checksum) }

// sumAt compares the checksums of members at the same index.
func (t *truth) sumAt(member, index, sum uint64) {
	t.w.floors.Checksums++
	want, known := t.sums[index]
	if !known {
		t.sums[index] = sumAt{sum, member}
		return
	}
	if want.sum != sum {
		t.w.violated("checksum", "at index %d member %d has %016x, member %d has %016x", index, want.member, want.sum, member, sum)
	}
}
