package sim

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// reply is a member's answer to a call.
type reply struct {
	result  *storev1.Result // of a change
	reader  any             // what a read returned
	verdict expiry.Verdict  // of a renewal
	err     error           // not applied, unless it is envelope.ErrOutcomeUnknown
}

// errDown says that nobody listens: the call was not even sent.
var errDown = errors.New("member is down")

// write brings a command to the leader, and its outcome back: when this member has applied it too.
func (r *life) write(cmd *storev1.Command, answer func(reply)) {
	switch leader := r.view.Lead().Leader; leader {
	case r.m.id:
		r.propose(cmd, func(result *storev1.Result, err error) { answer(reply{result: result, err: err}) })
	case 0:
		answer(reply{err: core.ErrNoLeader})
	default:
		r.relay(leader, func(leader *life, back func(reply, uint64)) {
			leader.propose(cmd, func(result *storev1.Result, err error) {
				back(reply{result: result, err: err}, leader.store.Applied().Index)
			})
		}, answer)
	}
}

// relay asks the leader, and answers when this member has applied as much as the leader had.
func (r *life) relay(to uint64, ask func(leader *life, back func(reply, uint64)), answer func(reply)) {
	r.w.floors.Relayed++
	leader := r.w.memberByID(to)
	if leader == nil {
		answer(reply{err: core.ErrNoLeader})
		return
	}
	r.w.net.call(r.m.id, to, func() {
		if leader.life == nil {
			return
		}
		leader.life.soon(func(leader *life) {
			if leader.m.paused {
				r.w.floors.QueuedAtPaused++
			}
			ask(leader, func(rep reply, index uint64) {
				r.w.net.call(to, r.m.id, func() {
					r.soon(func(r *life) {
						if rep.err != nil {
							answer(rep)
							return
						}
						r.when(func() bool { return r.store.Applied().Index >= index }, func() { answer(rep) })
					})
				})
			})
		})
	})
}

// readState answers from the state as it is now, if the read may be stale, or when it is proved to be fresh.
func (r *life) readState(stale bool, see func(*storage.Reader) (any, error), answer func(reply)) {
	look := func() {
		if r.store.Applied().Index == 0 {
			answer(reply{err: errDown}) // It joins, and has nothing to show yet.
			return
		}
		reader := r.store.NewReader()
		seen, err := see(reader)
		if err = errors.Join(err, reader.Close()); err != nil {
			r.w.violated("read", "member %d: %v", r.m.id, err)
			return
		}
		answer(reply{reader: seen})
	}
	if stale {
		look()
		return
	}
	r.read(false, func(_ uint64, err error) {
		if err != nil {
			answer(reply{err: err})
			return
		}
		look()
	})
}

// renewSession renews here, or at the leader.
func (r *life) renewSession(id storage.SessionID, epoch uint64, answer func(reply)) {
	switch leader := r.view.Lead().Leader; leader {
	case r.m.id:
		r.renew(id, epoch, func(v expiry.Verdict, err error) { answer(reply{verdict: v, err: err}) })
	case 0:
		answer(reply{err: core.ErrNoLeader})
	default:
		r.relay(leader, func(leader *life, back func(reply, uint64)) {
			leader.renew(id, epoch, func(v expiry.Verdict, err error) { back(reply{verdict: v, err: err}, 0) })
		}, answer)
	}
}
