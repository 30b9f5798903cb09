package watch

import "time"

// proofRetryMax is how long at most a watch waits after a failed proof before it asks again.
const proofRetryMax = time.Second

// Proof is a question whether the store shows everything that was committed when it was asked.
type Proof struct {
	// Done is closed when the answer is there; it is written before.
	Done chan struct{}
	// Revision is one that the store showed when it was current.
	Revision uint64
	// Err says why there is no proof.
	Err error
}

// pace says when a watch without news tells how far it came: when nothing was sent for the interval, the store was proved
// to be current after that, and the watch has seen what the proof has.
type pace struct {
	interval time.Duration
	prove    func() *Proof

	timer *time.Timer
	due   <-chan time.Time // nil when no progress is wanted
	over  bool             // the interval is over
	asked *Proof           // under way
	shown bool             // progress may be told when the watch has reached least
	least uint64
}

func newPace(r Request) *pace {
	p := &pace{interval: r.Progress, prove: r.Prove}
	if p.interval > 0 {
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

// begin counts the interval anew, because something was sent.
func (p *pace) begin() {
	if p.timer != nil {
		p.over, p.asked, p.shown = false, nil, false
		p.timer.Reset(p.interval)
	}
}

// ask begins a proof, because nothing was sent for the interval.
func (p *pace) ask() {
	p.over = true
	if p.prove == nil {
		p.shown, p.least = true, 0
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

// look takes what is there without waiting for it: that the interval is over, and the end of a proof.
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
		p.shown, p.least = true, proof.Revision
	default:
	}
}

// behind tells whether all that is missing is that the watch reaches what was proved.
func (p *pace) behind(at Position) bool { return p.shown && at.Revision < p.least }

// late tells whether a watch that still has to look through history to a position may say so far, because nothing was sent
// for the interval. Who hears nothing for long takes the member for dead, and would begin the same search at another.
func (p *pace) late(at Position) bool { return p.over && at.Index == Whole }

// ready tells whether a watch that has seen everything up to a position may say so.
func (p *pace) ready(at Position) bool { return p.shown && at.Index == Whole && at.Revision >= p.least }
