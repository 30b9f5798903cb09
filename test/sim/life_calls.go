package sim

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// waiter waits for a proposal.
type waiter struct {
	p    *envelope.Proposal
	done func(*storev1.Result, error)
}

// arrival waits until something is applied.
type arrival struct {
	ready func() bool
	do    func()
}

// reached wakes those who wait until something is applied.
func (r *life) reached() {
	var rest []arrival
	waiting := r.arrivals
	r.arrivals = nil
	for _, a := range waiting {
		if a.ready() {
			a.do()
		} else {
			rest = append(rest, a)
		}
	}
	r.arrivals = append(rest, r.arrivals...)
}

// when does something as soon as it may be done.
func (r *life) when(ready func() bool, do func()) {
	if ready() {
		do()
		return
	}
	r.arrivals = append(r.arrivals, arrival{ready, do})
}

// propose puts a command into the log and tells its outcome.
func (r *life) propose(cmd *storev1.Command, done func(*storev1.Result, error)) {
	if err := r.view.MayPropose(); err != nil {
		done(nil, err)
		return
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(cmd)
	if err != nil {
		done(nil, err)
		return
	}
	p, err := r.queue.Add(data)
	if err != nil {
		done(nil, err)
		return
	}
	r.waiting = append(r.waiting, &waiter{p: p, done: done})
	r.wake()
}

// sweep tells the outcomes that are known.
func (r *life) sweep() {
	var proofs []*reading
	proofs, r.readings = known(r.readings, func(d *reading) <-chan struct{} { return d.of.Done() })
	var results []*waiter
	results, r.waiting = known(r.waiting, func(w *waiter) <-chan struct{} { return w.p.Done() })
	for _, d := range proofs {
		d.done(d.of.Proof())
	}
	for _, w := range results {
		w.done(w.p.Result())
	}
}

// known parts those that have come to their end from the rest.
func known[T any](all []T, end func(T) <-chan struct{}) (ended, rest []T) {
	for _, one := range all {
		select {
		case <-end(one):
			ended = append(ended, one)
		default:
			rest = append(rest, one)
		}
	}
	return ended, rest
}

// reading waits for a proof.
type reading struct {
	of   *turn.Reading
	done func(term uint64, err error)
}

// read asks for a proof.
func (r *life) read(leader bool, done func(term uint64, err error)) {
	of, first, err := r.readers.Join(leader)
	if err != nil {
		done(0, err)
		return
	}
	r.readings = append(r.readings, &reading{of: of, done: done})
	if first {
		r.wake()
	}
}
