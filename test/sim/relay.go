package sim

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/proposals"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// lookInterval is how often a member looks who leads.
const lookInterval = 20 * time.Millisecond

// relay carries changes to the leader, as the goroutines of server/leader and server/proposals do. The journey of each, and both ends of
// the stream, are theirs.
type relay struct {
	r            *life
	leader, term uint64 // the way; no leader when none is known
	line         *line  // over that way; nil before something is sent
	turned       []func()
}

// run looks who leads, again and again.
func (y *relay) run() {
	y.look()
	y.r.after(lookInterval, y.run)
}

// look finds the way to the present leader.
func (y *relay) look() {
	now := y.r.view.Lead()
	if now.Leader == y.leader && (now.Term == y.term || now.Leader == 0) {
		return
	}
	if old := y.line; old != nil {
		y.line = nil
		y.r.after(y.r.w.plan.electionTimeout(), old.end) // The old leader may have applied what it was asked, and know it.
	}
	y.leader, y.term = now.Leader, now.Term
	turned := y.turned
	y.turned = nil
	for _, do := range turned {
		do()
	}
	y.r.carrier.turned()
}

// elsewhere reports whether another member is known to lead.
func (y *relay) elsewhere() bool { return y.leader != 0 && y.leader != y.r.m.id }

// wait does something when the way is another one, or after some time.
func (y *relay) wait(d time.Duration, do func()) {
	done := false
	once := func() {
		if !done {
			done = true
			do()
		}
	}
	y.turned = append(y.turned, once)
	y.r.after(d, once)
}

// patience is how long a call waits for a leader.
func (y *relay) patience() time.Duration { return 5 * y.r.w.plan.electionTimeout() }

// trip is a change on its way to the leader.
type trip struct {
	y       *relay
	cmd     *storev1.Command
	journey *leader.Journey
	until   time.Duration
	answer  func(reply)
}

// order has a change ordered by the leader, and answers when this member has applied it too.
func (y *relay) order(cmd *storev1.Command, answer func(reply)) {
	repeat := cmd.GetRequestId() != nil || len(cmd.GetIdempotencyKey()) > 0
	y.r.propose(cmd, func(result *storev1.Result, err error) {
		if err == nil || !leader.MayComeRight(context.Background(), err, repeat) {
			answer(reply{result: result, err: err})
			return
		}
		t := &trip{y: y, cmd: cmd, journey: leader.NewJourney(repeat, err), until: y.r.m.clock() + y.patience(), answer: answer}
		t.next()
	})
}

// next makes the next attempt, when it is due.
func (t *trip) next() {
	pause := t.journey.Pause(t.y.elsewhere())
	left := t.until - t.y.r.m.clock()
	switch {
	case pause <= 0:
		t.attempt()
	case pause < left:
		t.y.wait(pause, t.attempt)
	default:
		t.y.wait(left, func() { t.answer(reply{err: t.journey.Err()}) })
	}
}

func (t *trip) attempt() {
	switch y := t.y; {
	case y.leader == 0:
		t.ended(nil, 0, reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "there is no leader"))
	case !y.elsewhere():
		y.r.propose(t.cmd, func(result *storev1.Result, err error) { t.ended(result, 0, err) })
	default:
		y.r.w.floors.Relayed++
		y.over().propose(&peerv1.ProposeRequest{Term: y.term, Command: t.cmd}, func(answer *peerv1.ProposeResponse, err error) {
			if err != nil {
				broken, ok := errors.AsType[*proposals.BrokenError](err)
				err = leader.FromPeer(context.Background(), err, !ok || broken.Sent)
			}
			t.ended(answer.GetResult(), answer.GetIndex(), err)
		})
	}
}

// ended takes what came of an attempt.
func (t *trip) ended(result *storev1.Result, index uint64, err error) {
	if !t.journey.Ended(err, false) {
		t.next()
		return
	}
	if err = t.journey.Err(); err != nil {
		t.answer(reply{err: err})
		return
	}
	var doubt error
	if storage.IsOutdated(result) {
		doubt = t.journey.Doubt()
	}
	t.y.r.when(func() bool { return t.y.r.store.Applied().Index >= index }, func() { t.answer(reply{result: result, err: doubt}) })
}

// line is this member's end of the stream of changes to one leader. It is opened when there is something to send.
type line struct {
	y       *relay
	to      uint64
	ledger  *proposals.Ledger // of the present stream; nil when there is none
	wire    *wire
	desk    *desk
	filling bool
	waiting []*outcome
	ended   bool
}

// outcome waits for what becomes of a change.
type outcome struct {
	decided chan proposals.Outcome
	done    func(*peerv1.ProposeResponse, error)
}

// over returns the line to the present leader.
func (y *relay) over() *line {
	if y.line == nil {
		y.line = &line{y: y, to: y.leader}
	}
	return y.line
}

var errLine = errors.New("the line to the leader broke")

// propose has the leader order a change.
func (l *line) propose(request *peerv1.ProposeRequest, done func(*peerv1.ProposeResponse, error)) {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil || l.ended {
		done(nil, &proposals.BrokenError{Err: errLine})
		return
	}
	if l.ledger == nil {
		wire := l.y.r.dial(l.to)
		if wire == nil {
			done(nil, &proposals.BrokenError{Err: errLine})
			return
		}
		l.wire, l.ledger, l.desk = wire, proposals.NewLedger(), &desk{r: wire.far, wire: wire, of: proposals.NewDesk()}
		wire.onBreak = append(wire.onBreak, func() { l.y.r.soon(func(*life) { l.broken(wire) }) }, l.desk.of.Close)
	}
	o := &outcome{decided: make(chan proposals.Outcome, 1), done: done}
	l.waiting = append(l.waiting, o)
	if !l.ledger.Add(&proposals.Proposal{Request: text, Decided: o.decided}) {
		o.decided <- proposals.Outcome{Err: errLine}
	}
	l.fill()
	l.tell()
}

// fill sends what waits, a moment later: who is about to propose goes into the same message.
func (l *line) fill() {
	if l.filling {
		return
	}
	l.filling = true
	l.y.r.after(between(l.y.r.dice, 0, turnDelay), func() {
		l.filling = false
		for l.ledger != nil {
			m := l.ledger.Fill(l.y.r.m.moment())
			if m == nil {
				return
			}
			l.send(m)
		}
	})
}

// send brings a message to the leader.
func (l *line) send(m *peerv1.ProposeManyRequest) {
	ledger, desk := l.ledger, l.desk
	l.wire.send(false, func() {
		desk.take(m, func(answer *peerv1.ProposeManyResponse) {
			ledger.Answered(answer.GetAnswers())
			l.tell()
		})
	})
}

// tell tells the outcomes that are known.
func (l *line) tell() {
	var ended []*outcome
	waiting := l.waiting
	l.waiting = nil
	var rest []*outcome
	results := map[*outcome]proposals.Outcome{}
	for _, o := range waiting {
		select {
		case results[o] = <-o.decided:
			ended = append(ended, o)
		default:
			rest = append(rest, o)
		}
	}
	l.waiting = rest
	for _, o := range ended {
		response, err := results[o].Response()
		o.done(response, err)
	}
}

// broken says that a stream is over.
func (l *line) broken(wire *wire) {
	if l.wire != wire {
		return
	}
	l.ledger.Broken(errLine)
	l.ledger, l.wire = nil, nil
	l.tell()
}

// end ends the line for good.
func (l *line) end() {
	l.ended = true
	if l.wire != nil {
		l.wire.cut()
	}
}

// desk is the leader's end of a stream of changes.
type desk struct {
	r        *life
	wire     *wire
	of       *proposals.Desk
	answer   bool // answers are due
	decision func(*peerv1.ProposeManyResponse)
}

// take starts the changes of a message. Back brings answers to the other end.
func (d *desk) take(m *peerv1.ProposeManyRequest, back func(*peerv1.ProposeManyResponse)) {
	d.decision = back
	d.of.Cancel(m.GetCancelled())
	for _, p := range m.GetProposals() {
		if started, err := d.of.Start(p.GetNumber(), func() {}); err != nil || !started {
			d.wire.cut()
			return
		}
		d.start(p)
	}
}

// start orders one change, where this member still leads.
func (d *desk) start(p *peerv1.NumberedProposal) {
	var request peerv1.ProposeRequest
	if err := proto.Unmarshal(p.GetRequest(), &request); err != nil {
		d.r.w.violated("relay", "a change cannot be decoded: %v", err)
		return
	}
	if !d.r.leadsSince(request.GetTerm()) {
		d.done(p.GetNumber(), nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader"))
		return
	}
	d.r.propose(request.GetCommand(), func(result *storev1.Result, err error) {
		d.done(p.GetNumber(), &peerv1.ProposeResponse{Result: result, Index: d.r.store.Applied().Index}, err)
	})
}

// done takes what came of a change. What comes together is answered together.
func (d *desk) done(number uint64, response *peerv1.ProposeResponse, err error) {
	if err != nil {
		of, _ := reason.Status(err, "")
		err = of.Err()
	}
	d.of.Done(number, response, err)
	if d.answer {
		return
	}
	d.answer = true
	d.r.after(between(d.r.dice, 0, turnDelay), func() {
		d.answer = false
		for _, m := range d.of.Answers() {
			d.wire.send(true, func() { d.decision(m) })
		}
	})
}

// leadsSince reports whether this member leads, as far as it knows, in a term that is not older than the given one.
func (r *life) leadsSince(term uint64) bool { return r.leads() && r.view.Lead().Term >= term }
