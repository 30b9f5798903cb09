package turn

import (
	"sync"

	"github.com/tenure-io/tenure/raftnode/core"
)

// Reading is callers who share one proof.
type Reading struct {
	done chan struct{}
	// term and err are written before done is closed.
	term uint64
	err  error
}

// Readers gather callers between two turns of the loop. Those who come later share the next batch.
type Readers struct {
	mu       sync.Mutex // guards what follows
	plain    *Reading   // gathering; nil when nobody came
	leader   *Reading   // gathering, for ReadIndexLeader
	inFlight map[uint64]*Reading
	next     uint64
	closed   error
}

// NewReaders returns the readers of a member that starts.
func NewReaders() *Readers { return &Readers{inFlight: map[uint64]*Reading{}} }

// Join adds a caller; first reports whether the loop has to be woken.
func (r *Readers) Join(leader bool) (b *Reading, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return nil, false, r.closed
	}
	slot := &r.plain
	if leader {
		slot = &r.leader
	}
	if *slot == nil {
		*slot = &Reading{done: make(chan struct{})}
		first = true
	}
	return *slot, first, nil
}

// Take turns what gathered into events.
func (r *Readers) Take(dst []core.Event) []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, slot := range []**Reading{&r.plain, &r.leader} {
		if *slot == nil {
			continue
		}
		r.next++
		r.inFlight[r.next] = *slot
		dst = append(dst, core.Read{Handle: r.next, Leader: slot == &r.leader})
		*slot = nil
	}
	return dst
}

// Finish ends the wait of those who share a proof.
func (r *Readers) Finish(d core.ReadDone, err error) {
	r.mu.Lock()
	b := r.inFlight[d.Handle]
	delete(r.inFlight, d.Handle)
	r.mu.Unlock()
	if b != nil {
		b.finish(d.Term, err)
	}
}

// Close ends every wait, and takes no more callers.
func (r *Readers) Close(err error) {
	r.mu.Lock()
	if r.closed == nil {
		r.closed = err
	}
	var all []*Reading
	for _, b := range r.inFlight {
		all = append(all, b)
	}
	clear(r.inFlight)
	for _, slot := range []**Reading{&r.plain, &r.leader} {
		if *slot != nil {
			all = append(all, *slot)
			*slot = nil
		}
	}
	r.mu.Unlock()
	for _, b := range all {
		b.finish(0, err)
	}
}

// Done returns a channel that is closed when the proof came, or will not.
func (b *Reading) Done() <-chan struct{} { return b.done }

// Proof returns the term of the proof, when the leader was asked for. It is called after Done's channel was closed.
func (b *Reading) Proof() (term uint64, err error) { return b.term, b.err }

func (b *Reading) finish(term uint64, err error) {
	b.term, b.err = term, err
	close(b.done)
}
