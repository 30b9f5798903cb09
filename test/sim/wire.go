package sim

import "time"

// wire is a stream from one member to another. What is sent over it arrives in order, once. Where something is lost, or one end is no
// more, it breaks, and what was under way is lost.
type wire struct {
	w         *World
	near, far *life
	broken    bool
	last      [2]time.Duration // when the last message arrives, at the far end and at the near one
	onBreak   []func()
}

// dial opens a stream to a member; nil if nobody is there.
func (r *life) dial(to uint64) *wire {
	m := r.w.memberByID(to)
	if m == nil || m.life == nil {
		return nil
	}
	w := &wire{w: r.w, near: r, far: m.life}
	r.wires = append(r.wires, w)
	w.far.wires = append(w.far.wires, w)
	return w
}

// send brings something to the far end, or back from there.
func (w *wire) send(back bool, arrive func()) {
	from, to, way := w.near, w.far, 0
	if back {
		from, to, way = w.far, w.near, 1
	}
	if w.broken {
		return
	}
	if w.w.net.lost(from.m.id, to.m.id) {
		w.cut()
		return
	}
	at := max(w.w.now+w.w.net.takes(from.m.id, to.m.id), w.last[way]+1)
	w.last[way] = at
	w.w.after(at-w.w.now, func() {
		if to.m.paused && to.leads() {
			w.w.floors.QueuedAtPaused++
		}
		to.soon(func(*life) {
			if !w.broken {
				arrive()
			}
		})
	})
}

// cut breaks the stream. Both ends learn of it as soon as they run.
func (w *wire) cut() {
	if w.broken {
		return
	}
	w.broken = true
	for _, end := range []*life{w.near, w.far} {
		end.wires = without(end.wires, w)
	}
	for _, do := range w.onBreak {
		do()
	}
}

// without returns what is left of a list; the old one stays as it is.
func without[T comparable](all []T, one T) (rest []T) {
	for _, other := range all {
		if other != one {
			rest = append(rest, other)
		}
	}
	return rest
}
