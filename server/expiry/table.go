package expiry

import (
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
)

const (
	// shardBits and shardCount say how the locks of the table are spread.
	shardBits  = 6
	shardCount = 1 << shardBits
	// heldMax is how long renewals that wait for their proof postpone an end: longer than any proof takes. They wait
	// without end on a stream that nobody reads, and such a renewal is never acknowledged.
	heldMax = 15 * time.Second
	// chunkSize is how many sessions are given memory at once.
	chunkSize = 128
	// secretHeadBytes is how much of the hash of a session's secret is kept: too much for anybody to find another that begins
	// so.
	secretHeadBytes = 16
)

// Secret says whether a session has a secret, as far as the timers know.
type Secret uint8

const (
	// SecretUnknown means that nobody told yet; the state knows.
	SecretUnknown Secret = iota
	// SecretNone means an open session.
	SecretNone
	// SecretNeeded means that whoever renews must bring the secret, and that the renewal did not.
	SecretNeeded
	// SecretShown means that the renewal brought the secret.
	SecretShown
	// SecretAbsent means that the timers do not have the session.
	SecretAbsent
)

// entry is what the timers keep of a live session. Its shard's lock guards it. Entries do not move, and are used again
// for other sessions under another gen.
type entry struct {
	id       storage.SessionID
	deadline time.Duration // lease time; nothing ends before it
	renewed  time.Duration // clock at the last acknowledged renewal; negative: none in this term
	epoch    uint64
	ttlMs    uint32 // zero: no TTL
	gen      uint32
	waiting  uint32 // renewals that were received and wait for their proof
	expiring bool   // named by an Expire that was proposed
	live     bool
	secret   Secret                // never SecretShown or SecretAbsent
	head     [secretHeadBytes]byte // of the hash of the secret
}

// setSecret notes the hash of the session's secret; empty for none.
func (e *entry) setSecret(hash []byte) {
	e.secret, e.head = SecretNone, [secretHeadBytes]byte{}
	if len(hash) > 0 {
		e.secret = SecretNeeded
		copy(e.head[:], hash)
	}
}

// secretOf returns what a renewal that shows a hash needs.
func (e *entry) secretOf(shown []byte) Secret {
	if e.secret == SecretNeeded && len(shown) == sha256.Size &&
		subtle.ConstantTimeCompare(shown[:secretHeadBytes], e.head[:]) == 1 {
		return SecretShown
	}
	return e.secret
}

func (e *entry) ttl() time.Duration { return time.Duration(e.ttlMs) * time.Millisecond }

// Ref leads to a session without a search. It may be kept: a stale one is recognised. The zero value leads nowhere.
type Ref struct {
	e   *entry
	gen uint32
	tag uint32 // serial of the table, and number of the shard
}

// shard is one part of the table.
type shard struct {
	mu     sync.Mutex // guards what follows and the entries; nothing else is locked under it but fresh
	byID   map[storage.SessionID]*entry
	free   []*entry
	sparse []entry // memory for entries that were never used
	// attached has the sessions to which somebody attached with a number; nil until then.
	attached map[storage.SessionID]attachment
}

// table holds the live sessions of one term.
type table struct {
	serial uint32 // another one in each term; the upper bits of a tag
	term   uint64
	shards [shardCount]shard

	fresh queue[Ref] // sessions that no wheel has yet
}

// queue takes items from many goroutines for one.
type queue[T any] struct {
	mu    sync.Mutex // guards items; a leaf
	items []T
}

func (q *queue[T]) put(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
}

// take returns all items; they belong to the caller.
func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}

func newTable(serial uint32, term uint64) *table {
	t := &table{serial: serial, term: term}
	for i := range t.shards {
		t.shards[i].byID = map[storage.SessionID]*entry{}
	}
	return t
}

// shard returns the shard of an id and the tag of its Refs; ids are random in every byte.
func (t *table) shard(id *storage.SessionID) (*shard, uint32) {
	n := uint32(id[15] % shardCount)
	return &t.shards[n], t.serial<<shardBits | n
}

// shardOf returns the shard of a Ref of this table, nil for one of another.
func (t *table) shardOf(r Ref) *shard {
	if r.e == nil || r.tag>>shardBits != t.serial&(1<<(32-shardBits)-1) {
		return nil
	}
	return &t.shards[r.tag%shardCount]
}

// session is what begins a timer.
type session struct {
	id    storage.SessionID
	ttlMs int64
	epoch uint64
	// secret is the hash of the secret, empty for none; told says that it is known.
	secret []byte
	told   bool
}

// begin adds a session whose TTL starts at now, in lease time. It reports false if it is there already.
func (t *table) begin(s session, now time.Duration) bool {
	sh, tag := t.shard(&s.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, ok := sh.byID[s.id]; ok {
		return false
	}
	e := sh.alloc()
	gen := e.gen
	*e = entry{id: s.id, epoch: s.epoch, ttlMs: uint32(s.ttlMs), gen: gen, renewed: -1, live: true}
	if s.told {
		e.setSecret(s.secret)
	}
	e.deadline = now + e.ttl()
	invariants.That(e.waiting == 0 && !e.expiring, "a new session has renewals that wait, or is ending")
	sh.byID[s.id] = e
	if s.ttlMs > 0 {
		t.fresh.put(Ref{e: e, gen: gen, tag: tag})
	}
	return true
}

// alloc returns an entry to use; its lock is held.
func (s *shard) alloc() *entry {
	if n := len(s.free); n > 0 {
		e := s.free[n-1]
		s.free = s.free[:n-1]
		return e
	}
	if len(s.sparse) == 0 {
		s.sparse = make([]entry, chunkSize)
	}
	e := &s.sparse[0]
	s.sparse = s.sparse[1:]
	return e
}

// ended is what was known of a session that is gone.
type ended struct {
	known    bool
	ttlMs    uint32
	expiring bool
	waited   bool // renewals waited for it
	deadline time.Duration
}

// end takes a session out.
func (t *table) end(id storage.SessionID) ended {
	sh, _ := t.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.byID[id]
	if e == nil {
		return ended{}
	}
	out := ended{known: true, ttlMs: e.ttlMs, expiring: e.expiring, waited: e.waiting > 0, deadline: e.deadline}
	invariants.That(e.live && e.id == id, "the timers keep a session under the name of another")
	delete(sh.byID, id)
	delete(sh.attached, id)
	*e = entry{gen: e.gen + 1}
	sh.free = append(sh.free, e)
	return out
}

// raise notes a session's new epoch.
func (t *table) raise(id storage.SessionID, epoch uint64) {
	sh, _ := t.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.byID[id]; e != nil {
		e.epoch = max(e.epoch, epoch)
		delete(sh.attached, id)
	}
}

// fate is what a look at a session in a due bucket found.
type fate uint8

const (
	fateGone  fate = iota // the session ended, or has no TTL
	fateLater             // renewed; look again at its deadline
	fateHeld              // due, but a renewal waits for its proof
	fateDue               // due
)

// judge says what is to be done with a session that was filed. With claim, one that is due is marked as expiring: from
// then on renewals wait.
func (t *table) judge(r Ref, now time.Duration, claim bool) (fate, time.Duration) {
	sh := t.shardOf(r)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case r.e.gen != r.gen || !r.e.live:
		return fateGone, 0
	case r.e.expiring:
		return fateDue, r.e.deadline
	case r.e.deadline > now:
		return fateLater, r.e.deadline
	case r.e.waiting > 0 && now < r.e.deadline+heldMax:
		return fateHeld, r.e.deadline
	}
	invariants.That(r.e.ttlMs > 0, "a session without TTL is due")
	if claim {
		r.e.expiring = true
	}
	return fateDue, r.e.deadline
}

// id returns the session that a Ref leads to, or false if it ended.
func (t *table) id(r Ref) (storage.SessionID, bool) {
	sh := t.shardOf(r)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return r.e.id, r.e.gen == r.gen
}

// ids returns the sessions of those Refs that have not ended, as commands name them.
func (t *table) ids(refs []Ref) [][]byte {
	var ids [][]byte
	for _, r := range refs {
		if id, ok := t.id(r); ok {
			ids = append(ids, id[:])
		}
	}
	return ids
}
