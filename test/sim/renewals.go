package sim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/leader"
	renewal "github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

const (
	// proofTimeout is how long the timers of a term may take to begin.
	proofTimeout = 5 * time.Second
	// sweepInterval is how often a member looks for renewals that have waited too long.
	sweepInterval = 100 * time.Millisecond
)

// keeper drives one stream of renewals, as the goroutines of server/renewal do: a client's, another member's, or a single call. What it
// decides is the product's.
type keeper struct {
	r       *life
	of      *renewal.Stream
	origin  renewal.Origin
	inbox   [][]renewal.Asked // what came and was not read
	deliver func([]renewal.Verdict)
	over    func(error) // told of the end
	running bool        // a round is under way
	again   bool        // another one is due
	parked  bool
	closed  bool
	proving func() // waits for the timers to begin
	proofs  int    // that were asked for
	// authorise decides again whether its client may renew; nil for a stream of another member, and where the plan has no tokens.
	authorise func(ctx context.Context, asked []renewal.Asked) error
}

// renewing opens streams of renewals, and knows who waits.
type renewing struct{ *life }

// keep opens a stream of renewals.
func (r renewing) keep(origin renewal.Origin, deliver func([]renewal.Verdict), over func(error)) *keeper {
	k := &keeper{
		r: r.life, origin: origin, deliver: deliver, over: over,
		of: renewal.NewStream(renewal.Config{Origin: origin, SessionsMax: 1 << 10}),
	}
	r.keepers = append(r.keepers, k)
	return k
}

// step takes an event, and does all that follows but for the task.
func (k *keeper) step(ev renewal.Event) renewal.Effects {
	fx := k.of.Step(k.r.m.moment(), ev)
	for _, renewals := range fx.Release {
		k.r.timers.Release(renewals)
	}
	return fx
}

// came takes a message.
func (k *keeper) came(asked []renewal.Asked) {
	k.inbox = append(k.inbox, asked)
	k.read()
}

// read receives messages as long as there is room for them.
func (k *keeper) read() {
	for len(k.inbox) > 0 && k.of.MayRead() {
		asked := k.inbox[0]
		k.inbox = k.inbox[1:]
		m := k.step(renewal.Came{Asked: asked}).Admit
		if m == nil {
			return
		}
		renewing{k.r}.judged(func(j renewal.Judge) error {
			j.Look(m)
			return nil
		})
		k.r.timers.Receive(m.Renewals)
		k.step(renewal.Admitted{Message: m})
		k.ring()
	}
}

// Decided takes verdicts of the leader.
func (k *keeper) Decided(decisions []renewal.Decision) {
	k.step(renewal.Decided{Decisions: decisions})
	k.ring()
}

// ring lets whoever answers look.
func (k *keeper) ring() {
	if k.closed || k.running {
		k.again = true
		return
	}
	k.running = true
	k.r.after(between(k.r.dice, 0, turnDelay), func() {
		if k.closed {
			return
		}
		k.again = false
		k.follow(k.step(renewal.Round{}))
	})
}

// follow does what a step leaves to whoever answers.
func (k *keeper) follow(fx renewal.Effects) {
	switch {
	case k.closed:
	case fx.Task != nil:
		k.do(fx.Task)
	case fx.Idle.Over:
		k.close(fx.Idle.Err)
	default:
		k.running = false
		watched := k.parked || !fx.Idle.Parked
		if k.parked = fx.Idle.Parked; !watched {
			k.r.w.floors.RenewalsWhileExpiring++
		}
		if fx.Idle.Again || k.again || !watched {
			k.ring()
		}
	}
	k.read()
}

// do does a task, and goes on when it has ended.
func (k *keeper) do(task renewal.Task) {
	switch t := task.(type) {
	case renewal.Prove:
		k.prove()
	case renewal.Settle:
		if k.origin == renewal.Call {
			t.Renewals[0].Unproven = false // Sessions have no secrets here.
		}
		renewing{k.r}.judged(func(j renewal.Judge) error { return j.Settle(t) })
		k.follow(k.step(renewal.Settled{}))
	case renewal.Relay:
		for _, one := range t.Renewals {
			one.To = k
		}
		k.r.carrier.add(t.Renewals)
		k.follow(k.step(renewal.Handed{}))
	case renewal.Wait:
		k.r.relay.wait(min(leader.Retry, t.Until.Sub(k.r.m.moment())), func() {
			if !k.closed {
				k.follow(k.step(renewal.Again{}))
			}
		})
	case renewal.Authorise:
		k.decideAgain(t.Asked)
	case renewal.Send:
		k.deliver(append([]renewal.Verdict(nil), t.Verdicts...))
		k.follow(k.step(renewal.Sent{}))
	}
}

// prove asks for a proof that this member leads, and waits until the timers of that term run.
func (k *keeper) prove() {
	if k.origin == renewal.Client && k.r.relay.elsewhere() {
		k.follow(k.step(renewal.Elsewhere{}))
		return
	}
	k.proofs++
	number := k.proofs
	ended := func(ev renewal.Event) {
		if k.proving = nil; !k.closed {
			k.follow(k.step(ev))
		}
	}
	k.r.read(true, func(term uint64, err error) {
		if err != nil {
			ended(k.unproved(err))
			return
		}
		k.proving = func() {
			if k.r.timers.Term() >= term {
				ended(renewal.Proved{Term: term})
			}
		}
		k.r.after(proofTimeout, func() {
			if k.proving != nil && k.proofs == number {
				ended(k.unproved(errNoTimers))
			}
		})
		k.proving()
	})
}

var errNoTimers = errors.New("the timers of this term do not run")

// unproved says what follows when there is no proof.
func (k *keeper) unproved(err error) renewal.Event {
	switch {
	case k.origin == renewal.Client && k.r.view.Lead().Leader == k.r.m.id:
		return renewal.Unproved{Refused: tenurev1.ErrorReason_ERROR_REASON_NO_LEADER}
	case k.origin == renewal.Client:
		return renewal.Elsewhere{}
	case k.origin == renewal.Call && leader.MayComeRight(context.Background(), err, true):
		return renewal.Elsewhere{Until: k.r.m.moment().Add(k.r.relay.patience())}
	default:
		return renewal.Unproved{Err: err}
	}
}

// close ends the stream.
func (k *keeper) close(err error) {
	if k.closed {
		return
	}
	k.closed = true
	k.step(renewal.Closed{})
	k.r.keepers = without(k.r.keepers, k)
	if k.over != nil {
		k.over(err)
	}
}

// keepAlive is a client's stream at one member.
type keepAlive struct {
	*keeper
	waiting map[uint64]func(reply) // for verdicts, by the number of the renewal
	// caller is who opened it, under what its authority says; nil where the plan has no tokens.
	caller  identity.Caller
	guard   *opened
	granted context.Context //nolint:containedctx // A stream is its context.
}

// renewSession renews a session over the client's stream, or as a single call.
func (r renewing) renewSession(k *call, asked renewal.Asked, single bool, answer func(reply)) {
	if single {
		guarding(r).renewOnce(k, asked, answer, func() *keeper {
			return r.keep(renewal.Call, func(verdicts []renewal.Verdict) { answer(reply{verdict: verdicts[0]}) }, func(err error) {
				if err != nil {
					answer(reply{err: err})
				}
			})
		})
		return
	}
	stream := r.streams[k.c]
	if stream != nil && stream.caller != k.caller {
		stream.close(nil) // The client has another token now, and opens another stream.
		stream = nil
	}
	if stream == nil {
		stream = &keepAlive{waiting: map[uint64]func(reply){}}
		stream.keeper = r.keep(renewal.Client, stream.answered, stream.ended)
		r.streams[k.c] = stream
		if r.authority != nil {
			guarding(r).guardStream(k, stream)
		}
	}
	if stream.guard != nil {
		guarding(r).renewOn(stream, asked, answer)
		return
	}
	stream.waiting[asked.Number] = answer
	stream.came([]renewal.Asked{asked})
}

// ended gives up what waits, in the order in which it was asked.
func (k *keepAlive) ended(err error) {
	if k.guard != nil {
		k.guard.close()
	}
	for c, stream := range k.r.streams {
		if stream == k {
			delete(k.r.streams, c)
		}
	}
	waiting := k.waiting
	k.waiting = map[uint64]func(reply){}
	for _, number := range slices.Sorted(maps.Keys(waiting)) {
		if err != nil {
			waiting[number](reply{err: err})
		}
	}
}

// answered gives the verdicts to those who asked.
func (k *keepAlive) answered(verdicts []renewal.Verdict) {
	for _, v := range verdicts {
		answer := k.waiting[v.Number]
		if answer == nil {
			k.r.w.violated("renewal", "renewal %d of %s was answered twice, or never asked", v.Number, v.Session)
			return
		}
		delete(k.waiting, v.Number)
		answer(reply{verdict: v})
	}
}

// timersChanged lets those go on who wait for the timers.
func (r renewing) timersChanged() {
	for _, k := range r.keepers {
		if k.proving != nil {
			k.proving()
		}
		if k.parked {
			k.ring()
		}
	}
}

// judged lets the product decide about renewals by this member's timers and state.
func (r renewing) judged(do func(j renewal.Judge) error) {
	at := r.store.Applied()
	j := renewal.Judge{Timers: r.timers, Sessions: sessions{r.life}, DenyRevision: at.DenyRevision, Marks: at.EndMarks > 0}
	if err := do(j); err != nil {
		r.w.violated("read", "member %d: %v", r.m.id, err)
	}
}

// sessions are the state's.
type sessions struct{ r *life }

// Live reports whether a session lives.
func (s sessions) Live(id storage.SessionID) (secret []byte, live bool, err error) {
	reader := s.r.store.NewReader()
	record, live, err := reader.Session(id)
	return record.GetSecretSha256(), live, errors.Join(err, reader.Close())
}

// Ended reports whether a session is known to have ended.
func (s sessions) Ended(id storage.SessionID) (bool, error) {
	reader := s.r.store.NewReader()
	_, known, err := reader.EndedSession(id)
	return known, errors.Join(err, reader.Close())
}

// Marked reports whether the end list has ended a session that is not recorded as ended.
func (s sessions) Marked(id storage.SessionID) (bool, error) {
	reader := s.r.store.NewReader()
	record, live, err := reader.Session(id)
	marked := false
	if err == nil && live {
		_, marked, err = reader.EndMark(record)
	}
	return marked, errors.Join(err, reader.Close())
}

// carrier drives the stream of relayed renewals to the leader, as a goroutine of server/renewal does.
type carrier struct {
	r       *life
	of      *renewal.Carrier
	wire    *wire
	far     *keeper
	term    uint64
	filling bool
	retry   bool // it waits before it opens a stream again
}

// run looks for what has waited too long, again and again.
func (c *carrier) run() {
	c.r.after(sweepInterval, func() {
		c.step(renewal.Sweep{})
		c.run()
	})
}

// step takes an event, and tells of what was decided.
func (c *carrier) step(ev renewal.Carriage) renewal.CarrierEffects {
	fx := c.of.Step(c.r.m.moment(), ev)
	for i := range fx.Decided {
		fx.Decided[i].To.Decided(fx.Decided[i : i+1])
	}
	return fx
}

// add takes renewals.
func (c *carrier) add(renewals []*renewal.Relayed) {
	c.r.w.floors.Relayed += len(renewals)
	c.step(renewal.Add{Renewals: renewals, Until: c.r.m.moment().Add(c.r.relay.patience())})
	c.fill()
}

// turned says that the way to the leader is another one.
func (c *carrier) turned() {
	if c.wire != nil {
		c.wire.cut()
	}
	if c.r.relay.leader == c.r.m.id {
		c.step(renewal.LeadsHere{})
	}
	c.fill()
}

// fill sends what waits, a moment later.
func (c *carrier) fill() {
	if c.filling || c.retry {
		return
	}
	c.filling = true
	c.r.after(between(c.r.dice, 0, turnDelay), func() {
		c.filling = false
		if c.r.relay.leader == c.r.m.id {
			c.step(renewal.LeadsHere{})
			return
		}
		if c.of.Waiting() == 0 || !c.r.relay.elsewhere() || c.wire == nil && !c.open() {
			return
		}
		for c.wire != nil {
			fx := c.step(renewal.Fill{})
			if len(fx.Send) == 0 {
				return
			}
			c.send(fx)
		}
	})
}

// open opens a stream to the leader.
func (c *carrier) open() bool {
	w := c.r.dial(c.r.relay.leader)
	if w == nil {
		c.later()
		return false
	}
	far := renewing{w.far}.keep(renewal.Member, func(verdicts []renewal.Verdict) {
		w.send(true, func() { c.answered(verdicts) })
	}, func(error) { w.cut() })
	w.onBreak = append(w.onBreak, func() {
		w.far.soon(func(*life) { far.close(nil) })
		c.r.soon(func(*life) { c.broken(w) })
	})
	c.wire, c.far, c.term = w, far, c.r.relay.term
	return true
}

// later opens a stream again after a while.
func (c *carrier) later() {
	c.retry = true
	c.r.after(leader.Retry, func() {
		c.retry = false
		c.fill()
	})
}

// broken says that a stream is over.
func (c *carrier) broken(w *wire) {
	if c.wire == w {
		c.wire, c.far = nil, nil
		c.step(renewal.Broken{})
		c.later()
	}
}

// send sends renewals to the leader.
func (c *carrier) send(fx renewal.CarrierEffects) {
	asked := make([]renewal.Asked, len(fx.Send))
	for i, one := range fx.Send {
		asked[i] = renewal.Asked{
			ID: one.ID, Epoch: one.Epoch, Number: fx.First + uint64(i), Proven: one.Proven, Secret: one.Secret,
			AuthorisedBelow: one.AuthorisedBelow,
		}
	}
	w, far, term := c.wire, c.far, c.term
	w.send(false, func() {
		if !far.r.leadsSince(term) {
			w.cut()
			return
		}
		far.came(asked)
	})
}

// answered takes verdicts of the leader.
func (c *carrier) answered(verdicts []renewal.Verdict) {
	answers := make([]renewal.Answer, len(verdicts))
	for i, v := range verdicts {
		answers[i] = renewal.Answer{Number: v.Number, Refused: v.Refused, TTL: v.TTL}
	}
	c.step(renewal.Answered{Answers: answers})
}
