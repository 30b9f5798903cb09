package watch

import "time"

// proofRetryMax is how long at most a watch waits after a failed proof before it asks again.
const proofRetryMax = time.Second

// Proof is a question whether the store shows everything that was committed when it was asked.
type Proof struct {
	// Done is closed when the answer is there; it is written before.
	Done chan struct{}
	// At is when the proof began: what was committed before that is in it.
	At time.Time
	// Revision is one that the store showed when it was current.
	Revision uint64
	// Err says why there is no proof.
	Err error
}

// pace says when a watch tells how far it came: every interval, whether events come or not, as soon as the store was proved to
// be current and the watch has seen what the proof has. It also says when a watch that is far behind shows that it comes on.
type pace struct {
	interval time.Duration
	prove    func() *Proof

	timer *time.Timer
	due   <-chan time.Time // nil when no progress is wanted
	began time.Time        // when the last proof was asked for
	heard time.Time        // when something was sent last
	asked *Proof           // under way
	shown *Proof           // progress may be told when the watch has reached its revision
}

func newPace(r Request) *pace {
	p := &pace{interval: r.Progress, prove: r.Prove}
	if p.interval > 0 {
		p.heard = time.Now()
		p.timer = time.NewTimer(p.interval)
		p.due = p.timer.C
	}
	return p
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// sent takes note that something was sent.
func (p *pace) sent() {
	if p.timer != nil {
		p.heard = time.Now()
	}
}

// told takes note that progress was told: the next is due an interval after this one was asked for.
func (p *pace) told() {
	p.shown = nil
	p.timer.Reset(max(0, p.interval-time.Since(p.began)))
}

// ask begins a proof, because progress is due.
func (p *pace) ask() {
	p.began = time.Now()
	if p.prove == nil {
		p.shown = &Proof{}
		return
	}
	p.asked = p.prove()
}

// proved is closed when the proof under way has ended; nil when there is none.
func (p *pace) proved() <-chan struct{} {
	if p.asked == nil {
		return nil
	}
	return p.asked.Done
}

// look takes what is there without waiting for it: that progress is due, and the end of a proof.
func (p *pace) look() {
	select {
	case <-p.due:
		p.ask()
	case <-p.proved():
		proof := p.asked
		p.asked = nil
		if proof.Err != nil {
			p.timer.Reset(min(p.interval, proofRetryMax))
			return
		}
		p.shown = proof
	default:
	}
}

// behind tells whether all that is missing is that the watch reaches what was proved.
func (p *pace) behind(at Position) bool { return p.shown != nil && at.Revision < p.shown.Revision }

// says returns the batch without events that a watch tells now that has seen everything up to a position; false if there is
// none. More says that there may be more to look at now.
func (p *pace) says(at Position, more bool) (Batch, bool) {
	switch {
	case at.Index != Whole || p.timer == nil:
		return Batch{}, false
	case p.shown != nil && at.Revision >= p.shown.Revision && (!more || p.prove != nil):
		b := Batch{Through: at.Revision, Proved: p.shown.At}
		p.told()
		return b, true
	case more && time.Since(p.heard) >= p.interval:
		// Who hears nothing for long takes the member for dead, and would begin the same search at another.
		return Batch{Through: at.Revision, Behind: true}, true
	}
	return Batch{}, false
}
