package sim

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/test/check"
)

// client is a program that uses the cluster.
type client struct {
	w      *World
	name   string
	dice   *rand.Rand
	rate   float64 // of its clock
	frozen bool
	wait   []func() // what would have happened while it was frozen
	writes int
	busy   int             // calls under way
	done   int             // calls that were answered
	home   int             // member that it asks first
	caller identity.Caller // what it shows
	keyed  *rand.Rand      // says which puts have an idempotency key; nil: none

	session *session
}

func (w *World) addClient(number int, role string) *client {
	c := &client{w: w, name: fmt.Sprintf("%s%d", role, number), home: number, caller: w.credential(role)}
	c.dice = w.dice("client " + c.name)
	c.rate = 1 + w.plan.DriftPercent/100*(2*c.dice.Float64()-1)
	if w.plan.Keyed > 0 && role == "keys" {
		c.keyed = w.dice("keyed " + c.name)
	}
	w.clients = append(w.clients, c)
	return c
}

// clock is the client's monotonic clock.
func (c *client) clock() time.Duration { return time.Duration(float64(c.w.now) * c.rate) }

// trueTime returns when the client's clock will show something.
func (c *client) trueTime(local time.Duration) time.Duration {
	return time.Duration(float64(local) / c.rate)
}

// after lets something happen later; while the client is frozen it waits.
func (c *client) after(d time.Duration, do func()) {
	c.w.after(time.Duration(float64(d)/c.rate), func() { c.soon(do) })
}

func (c *client) soon(do func()) {
	if c.frozen {
		c.wait = append(c.wait, func() { c.soon(do) })
		return
	}
	do()
}

func (c *client) thaw() {
	c.frozen = false
	wait := c.wait
	c.wait = nil
	for _, do := range wait {
		do()
	}
}

// value returns a value that nobody else writes.
func (c *client) value() string {
	c.writes++
	return fmt.Sprintf("%s-%d", c.name, c.writes)
}

// call is one operation with all its attempts.
type call struct {
	c       *client
	op      *check.Op
	ask     *ask            // nil where the plan has no tokens
	caller  identity.Caller // what the client showed when it began
	send    func(r *life, k *call, answer func(reply))
	tries   int           // most attempts
	timeout time.Duration // of one attempt
	// request names what is sent, where it may be sent again.
	request string
	// patience is how much longer than that an answer counts.
	patience time.Duration
	done     func(reply) // called once; err is set if there is no answer

	maybe   bool // an attempt may have been applied
	attempt int
	over    bool
	final   reply
}

const (
	triesMax       = 6
	attemptTimeout = 900 * time.Millisecond
)

// begin starts an operation.
func (c *client) begin(k *call) {
	k.c, k.caller = c, c.caller
	op := k.op
	op.ID, op.Client, op.Call, op.Outcome = len(c.w.truth.history.Ops)+1, c.name, int64(c.w.now), check.Unknown
	c.w.truth.history.Ops = append(c.w.truth.history.Ops, op)
	c.busy++
	k.timeout = attemptTimeout
	if c.w.log != nil {
		c.w.tell("%s calls op %d %s %s", c.name, op.ID, op.Kind, op.Key)
	}
	k.try()
}

// try sends the next attempt to some member.
func (k *call) try() {
	c := k.c
	k.attempt++
	k.op.Attempts = k.attempt
	n := k.attempt
	// Most go to the member next to them, some anywhere.
	members := c.w.inService()
	home := members[c.home%len(members)]
	to := home
	if n > 1 || c.dice.IntN(3) == 0 {
		to = members[c.dice.IntN(len(members))]
	}
	answered := false
	answer := func(rep reply) { // on the member's side
		c.w.net.call(to.id, 0, func() {
			c.soon(func() {
				if !answered {
					answered = true
					k.answered(n, rep)
				}
			})
		})
	}
	c.w.net.call(0, to.id, func() {
		if to.life == nil {
			answer(reply{err: errDown})
			return
		}
		if to.paused && to.life.leads() {
			c.w.floors.QueuedAtPaused++
		}
		to.life.soon(func(r *life) { k.send(r, k, answer) })
	})
	unanswered := func(do func()) func() {
		return func() {
			if !k.over && k.attempt == n && !answered {
				do()
			}
		}
	}
	c.after(k.timeout, unanswered(func() {
		if to == home {
			c.home++ // Another member may do better, as for the product's clients. This one may have been removed.
		}
		c.after(k.patience, unanswered(func() {
			k.maybe = true
			k.again(reply{err: fmt.Errorf("%w: no answer", envelope.ErrOutcomeUnknown)})
		}))
	}))
}

// answered takes the answer of an attempt, also one that comes late.
func (k *call) answered(n int, rep reply) {
	k.c.w.truth.requests.told(k.op.ID, k.request, rep.result)
	switch {
	case k.over:
		if rep.result != nil && k.final.result != nil {
			k.c.w.floors.AnswersCompared++
		}
	case rep.err != nil:
		if maybeApplied(rep.err) {
			k.maybe = true
		}
		if k.ask != nil {
			k.c.w.truth.tokens.refused(k.caller, k.ask, time.Duration(k.op.Call), rep.err)
		}
		if n == k.attempt {
			k.again(rep)
		}
	default:
		k.finish(rep)
	}
}

// again tries once more, after a while, or gives up.
func (k *call) again(rep reply) {
	if k.attempt >= max(k.tries, 1) || k.c.w.silent && k.attempt >= 2 {
		k.finish(rep)
		return
	}
	n := k.attempt
	k.c.after(between(k.c.dice, 20*time.Millisecond, 250*time.Millisecond), func() {
		if !k.over && k.attempt == n {
			k.try()
		}
	})
}

// finish ends the operation and writes down what its caller knows.
func (k *call) finish(rep reply) {
	k.over, k.final = true, rep
	c, op := k.c, k.op
	c.busy--
	op.Return = int64(c.w.now)
	switch f := rep.result.GetFailure(); {
	case rep.err != nil && k.maybe:
		op.Outcome, op.Reason, op.Return = check.Unknown, rep.err.Error(), 0
	case rep.err != nil:
		op.Outcome, op.Reason = check.Refused, rep.err.Error()
	case f != nil:
		op.Outcome = check.Refused
		op.Reason = strings.ToLower(strings.TrimPrefix(f.GetReason().String(), "FAILURE_REASON_"))
		op.Revision, op.ModRevision = rep.result.GetRevision(), f.GetActual()
		late := f.GetReason() == storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED ||
			f.GetReason() == storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED ||
			f.GetReason() == storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND
		if k.maybe && late && f.GetApplied() != appliedNo {
			op.Outcome, op.Return = check.Unknown, 0
		}
	default:
		op.Outcome = check.OK
		c.done++
	}
	if rep.result != nil && op.Outcome == check.OK {
		op.Revision, op.Changed = rep.result.GetRevision(), rep.result.GetChanged()
	}
	c.w.note("returned", uint64(op.ID), uint64(len(op.Outcome)), op.Revision)
	if k.done != nil {
		k.done(rep)
	}
	if op.Outcome == check.OK {
		c.w.truth.tokens.served(k)
	}
}

// change starts an operation that writes. Under a session it has a request id, and without one perhaps an idempotency key; then it is tried
// again until it is answered.
func (c *client) change(op *check.Op, cmd *storev1.Command, done func(reply)) {
	k := &call{op: op, done: done, tries: 1}
	cmd.WallTimeMs = c.w.now.Milliseconds()
	s := c.session
	switch {
	case s != nil && op.Session == s.text && op.Epoch == s.epoch && op.Kind != check.KindCreate && op.Kind != check.KindTakeOver:
		cmd.RequestDigest = c.digest(cmd)
		sequence := s.next()
		cmd.RequestId = &storev1.RequestID{
			SessionId: s.id[:], Epoch: s.epoch, Sequence: sequence, DoneBelow: s.doneBelow(),
		}
		open := s.open // that of this epoch
		k.done = func(rep reply) {
			delete(open, sequence)
			done(rep)
		}
	case op.Kind == check.KindPut && s == nil && c.keyed != nil && c.keyed.Float64() < c.w.plan.Keyed:
		cmd.RequestDigest = c.digest(cmd)
		cmd.IdempotencyKey = fmt.Appendf(nil, "%s, value %s", c.name, op.Value)
	}
	if k.request = requestOf(cmd); k.request != "" {
		k.tries = triesMax
	}
	if c.w.plan.Tokens {
		k.ask = askOf(cmd)
	}
	k.send = func(r *life, k *call, answer func(reply)) { guarding{r}.change(k, cmd, answer) }
	c.begin(k)
}

// digest returns that of what a client asks for.
func (c *client) digest(cmd *storev1.Command) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(cmd)
	if err != nil {
		c.w.violated("client", "%v", err)
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// session is what a client knows of its session.
type session struct {
	c       *client
	id      [16]byte
	text    string
	ttl     time.Duration
	epoch   uint64
	last    uint64          // newest request
	open    map[uint64]bool // requests that are not answered
	ended   bool
	hurries bool          // a renewal was in vain, and the next one comes soon
	back    bool          // it is renewed although its client may have given it up
	safe    time.Duration // on the client's clock: until then nobody else can have what it holds
	beliefs []*belief
	node    string // that it was opened on
	check   string // that it was bound to by name
}

type belief struct {
	hold check.Hold
	from time.Duration
}

func (s *session) next() uint64 {
	s.last++
	s.open[s.last] = true
	return s.last
}

func (s *session) doneBelow() uint64 {
	low := s.last
	for n := range s.open {
		low = min(low, n)
	}
	return low
}

// believe notes that the client takes itself for a holder from now on.
func (s *session) believe(h check.Hold) {
	for _, b := range s.beliefs {
		if b.hold == h {
			return // It was told before.
		}
	}
	s.beliefs = append(s.beliefs, &belief{hold: h, from: s.c.w.now})
}

// doubt ends a belief: at most when it could not know better.
func (s *session) doubt(h check.Hold) {
	for i, b := range s.beliefs {
		if b.hold == h {
			s.beliefs = append(s.beliefs[:i:i], s.beliefs[i+1:]...)
			s.record(b)
			return
		}
	}
}

func (s *session) record(b *belief) {
	if s.node != "" {
		return // It may end with what it is bound to, before its time is over.
	}
	until := min(s.c.w.now, s.c.trueTime(s.safe))
	t := s.c.w.truth
	t.history.Beliefs = append(t.history.Beliefs, &check.Belief{
		Client: s.c.name, Hold: b.hold, From: int64(b.from), Until: int64(until),
	})
}

// end is called when the client learns, or decides, that the session is over.
func (s *session) end() {
	s.ended = true
	for _, b := range s.beliefs {
		s.record(b)
	}
	s.beliefs = nil
}
