package sim

import (
	"context"
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/reason"
	renewal "github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

// reply is a member's answer to a call.
type reply struct {
	result  *storev1.Result // of a change
	reader  any             // what a read returned
	verdict renewal.Verdict // of a renewal
	err     error           // not applied, unless it is known to be unknown
}

// maybeApplied reports whether an error leaves open what became of a call.
func maybeApplied(err error) bool {
	e := reason.Of(err)
	return e != nil && e.Applied == reason.AppliedUnknown
}

// errDown says that nobody listens: the call was not even sent.
var errDown = errors.New("member is down")

// readState answers a call from the state as it is now, if the read may be stale, or when it is proved to be fresh.
func (r *life) readState(k *call, stale bool, see func(*storage.Reader) (any, error), answer func(reply)) {
	guarding{r}.pass(k, answer, func(ctx context.Context) { r.readUnder(ctx, k, stale, see, answer) })
}

// readUnder reads under what was decided about a call.
func (r *life) readUnder(ctx context.Context, k *call, stale bool, see func(*storage.Reader) (any, error), answer func(reply)) {
	look := func() {
		if r.store.Applied().Index == 0 {
			answer(reply{err: errDown}) // It joins, and has nothing to show yet.
			return
		}
		reader := r.store.NewReader()
		if err := (guarding{r}).shows(ctx, k, reader, stale); err != nil {
			answer(reply{err: errors.Join(err, reader.Close())})
			return
		}
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
