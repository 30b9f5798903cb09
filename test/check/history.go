package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Record is one line of a written history; exactly one field is set.
type Record struct {
	Op     *Op     `json:"op,omitempty"`
	Event  *Event  `json:"event,omitempty"`
	Watch  *Watch  `json:"watch,omitempty"`
	Belief *Belief `json:"belief,omitempty"`
}

// History is what was seen in one run.
type History struct {
	// Ops are calls of clients, in any order.
	Ops []*Op
	// Events are all changes of the state, by revision and index, without a gap.
	Events []*Event
	// Watches are what watches delivered.
	Watches []*Watch
	// Beliefs are when clients took themselves for holders.
	Beliefs []*Belief
}

// Kind says what an Op is.
type Kind string

// The kinds of operations.
const (
	KindGet      Kind = "get"
	KindPut      Kind = "put"
	KindDelete   Kind = "delete"
	KindTxn      Kind = "txn"
	KindAcquire  Kind = "acquire"
	KindRelease  Kind = "release"
	KindCancel   Kind = "cancel"
	KindBreak    Kind = "break"
	KindGetLock  Kind = "get_lock"
	KindCreate   Kind = "create_session"
	KindRenew    Kind = "renew_session"
	KindDestroy  Kind = "destroy_session"
	KindTakeOver Kind = "take_over_session"
)

// Outcome says what its caller knows of an Op.
type Outcome string

const (
	// OK means that it was answered; the answer may be "no".
	OK Outcome = "ok"
	// Refused means an error that says that nothing was done, and never will be.
	Refused Outcome = "refused"
	// Unknown means that it may or may not be done, now or later.
	Unknown Outcome = "unknown"
)

// BehaviorDelete deletes the keys that a session has locked when it ends.
const BehaviorDelete = "delete"

// Op is one call, with all its attempts, as its caller saw it.
type Op struct {
	ID     int    `json:"id"`
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Call and Return are when the first attempt was sent and the answer that counts arrived. Return is zero if none did.
	Call   int64 `json:"call"`
	Return int64 `json:"return,omitempty"`
	// Outcome is what the caller knows, Reason why it was refused or is unknown.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Attempts counts how often it was sent; answers after the first must be equal to it, Differs is one that is not.
	Attempts int    `json:"attempts,omitempty"`
	Differs  string `json:"differs,omitempty"`

	// Key is the key or lock it is about.
	Key string `json:"key,omitempty"`
	// Value is what it writes. Values are unique in a history, or a write cannot be told from another.
	Value string `json:"value,omitempty"`
	// IfRevision is the mod_revision that is demanded; nil: any.
	IfRevision *uint64 `json:"if_revision,omitempty"`
	// Session, Epoch and Owner say who acts.
	Session string `json:"session,omitempty"`
	Epoch   uint64 `json:"epoch,omitempty"`
	Owner   string `json:"owner,omitempty"`
	// Mode, Permits and Limit say what is acquired; Queue whether it waits.
	Mode    string `json:"mode,omitempty"`
	Permits uint32 `json:"permits,omitempty"`
	Limit   uint32 `json:"limit,omitempty"`
	Queue   bool   `json:"queue,omitempty"`
	// Guard is the hold that the call demands.
	Guard *Hold `json:"guard,omitempty"`
	// Stale says that a read may show an old state.
	Stale bool `json:"stale,omitempty"`
	// TTLMs and LockDelayMs are those of the session.
	TTLMs       int64 `json:"ttl_ms,omitempty"`
	LockDelayMs int64 `json:"lock_delay_ms,omitempty"`
	// Behavior is what becomes of the keys that a session has locked when it ends; empty: not known.
	Behavior string `json:"behavior,omitempty"`

	// Revision is that of the state that the answer shows; if Changed, of the change itself.
	Revision uint64 `json:"revision,omitempty"`
	Changed  bool   `json:"changed,omitempty"`
	// Found, Read, ModRevision and Version are what a get saw, or the state after a put.
	Found       bool   `json:"found,omitempty"`
	Read        string `json:"read,omitempty"`
	ModRevision uint64 `json:"mod_revision,omitempty"`
	Version     uint64 `json:"version,omitempty"`
	// Hold is what acquire got, or get_lock saw of an exclusive holder; Place where acquire waits.
	Hold  *Hold  `json:"hold,omitempty"`
	Place uint64 `json:"place,omitempty"`
	// Done says that release, cancel or delete found something to do.
	Done bool `json:"done,omitempty"`
	// Holders and Waiters are what get_lock counted.
	Holders uint32 `json:"holders,omitempty"`
	Waiters uint32 `json:"waiters,omitempty"`
	// Steps are the operations of the branch of a transaction that ran.
	Steps []Step `json:"steps,omitempty"`
}

// Step is one operation of a transaction: a get, a put or a delete.
type Step struct {
	Kind        Kind   `json:"kind"`
	Key         string `json:"key"`
	Value       string `json:"value,omitempty"`
	Found       bool   `json:"found,omitempty"`
	Read        string `json:"read,omitempty"`
	ModRevision uint64 `json:"mod_revision,omitempty"`
}

// Hold names one possession of a lock.
type Hold struct {
	Key       string `json:"key"`
	LockIndex uint64 `json:"lock_index"`
	Token     uint64 `json:"token"`
	Session   string `json:"session"`
	Owner     string `json:"owner,omitempty"`
}

// Belief is a time in which a client takes itself for the holder of an exclusive lock.
type Belief struct {
	Client string `json:"client"`
	Hold   Hold   `json:"hold"`
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
}

// Event is one change of the state.
type Event struct {
	Revision uint64 `json:"revision"`
	Index    uint32 `json:"index"`
	Count    uint32 `json:"count"`
	// At is when it was first seen to be applied on any member; zero: not known.
	At int64 `json:"at,omitempty"`
	// NotBefore is a time at which it was surely not made yet; zero: At less Options.SlackMs.
	NotBefore int64 `json:"not_before,omitempty"`
	// Kind is the name of the event's field in tenure.store.v1.Event, or KindOfCatalog.
	Kind           string `json:"kind"`
	Key            string `json:"key,omitempty"`
	Value          string `json:"value,omitempty"`
	Change         string `json:"change,omitempty"`
	CreateRevision uint64 `json:"create_revision,omitempty"`
	Version        uint64 `json:"version,omitempty"`
	LockIndex      uint64 `json:"lock_index,omitempty"`
	Token          uint64 `json:"token,omitempty"`
	Place          uint64 `json:"place,omitempty"`
	Session        string `json:"session,omitempty"`
	Bound          string `json:"bound,omitempty"`
	Owner          string `json:"owner,omitempty"`
	Mode           string `json:"mode,omitempty"`
	Permits        uint32 `json:"permits,omitempty"`
	Epoch          uint64 `json:"epoch,omitempty"`
	TTLMs          int64  `json:"ttl_ms,omitempty"`
	DelayMs        int64  `json:"delay_ms,omitempty"`
	Cause          string `json:"cause,omitempty"`
	// Unused says that a key was deleted since only a lock had made it, and the lock is not used any more.
	Unused bool `json:"unused,omitempty"`
	// Marked are sessions that an event of the catalog has ended, and whose end is carried out later.
	Marked []string `json:"marked,omitempty"`
}

// Watch is one watch, over all members that it went on at.
type Watch struct {
	ID     int    `json:"id"`
	Client string `json:"client"`
	// KeyPrefix and LockPrefix select events of keys and locks; nil selects none. Sessions selects all sessions.
	KeyPrefix  *string `json:"key_prefix,omitempty"`
	LockPrefix *string `json:"lock_prefix,omitempty"`
	Sessions   bool    `json:"sessions,omitempty"`
	// After is the revision behind which it began.
	After uint64 `json:"after"`
	// DueBefore is a time before which everything was applied that it should have delivered; zero: it may be far behind.
	DueBefore int64 `json:"due_before,omitempty"`
	// Batches are what it delivered, in order.
	Batches []Batch `json:"batches,omitempty"`
}

// Batch is one delivery.
type Batch struct {
	Events []Position `json:"events,omitempty"`
	// Through is the revision up to which everything was delivered.
	Through uint64 `json:"through"`
}

// Position names an event.
type Position struct {
	Revision uint64 `json:"revision"`
	Index    uint32 `json:"index"`
}

// Write writes a history as JSON lines.
func (h *History) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	var err error
	put := func(r Record) {
		if err == nil {
			err = enc.Encode(r)
		}
	}
	for _, o := range h.Ops {
		put(Record{Op: o})
	}
	for _, e := range h.Events {
		put(Record{Event: e})
	}
	for _, x := range h.Watches {
		put(Record{Watch: x})
	}
	for _, b := range h.Beliefs {
		put(Record{Belief: b})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// Read reads what Write wrote.
func Read(r io.Reader) (*History, error) {
	h := &History{}
	dec := json.NewDecoder(r)
	for {
		var rec Record
		if err := dec.Decode(&rec); err == io.EOF {
			return h, nil
		} else if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		switch {
		case rec.Op != nil:
			h.Ops = append(h.Ops, rec.Op)
		case rec.Event != nil:
			h.Events = append(h.Events, rec.Event)
		case rec.Watch != nil:
			h.Watches = append(h.Watches, rec.Watch)
		case rec.Belief != nil:
			h.Beliefs = append(h.Beliefs, rec.Belief)
		}
	}
}
