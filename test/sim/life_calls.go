package sim

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
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
	switch l := r.core.Leadership(); {
	case l.Role == core.RoleLeader:
	case l.Leader == 0:
		done(nil, core.ErrNoLeader)
		return
	default:
		done(nil, core.ErrNotLeader)
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
	var known, rest []*waiter
	for _, w := range r.waiting {
		select {
		case <-w.p.Done():
			known = append(known, w)
		default:
			rest = append(rest, w)
		}
	}
	r.waiting = rest
	for _, w := range known {
		w.done(w.p.Result())
	}
}

// read asks for a proof.
func (r *life) read(leader bool, done func(core.ReadDone)) {
	r.handle++
	r.reads[r.handle] = done
	r.mail = append(r.mail, core.Read{Handle: r.handle, Leader: leader})
	r.wake()
}
