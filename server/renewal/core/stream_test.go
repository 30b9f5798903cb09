package core

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

var errOfTests = errors.New("boom")

// told says what follows from a step, in one line.
func told(fx Effects) string {
	var says []string
	say := func(format string, args ...any) { says = append(says, fmt.Sprintf(format, args...)) }
	if fx.Admit != nil {
		say("admit")
	}
	released := 0
	for _, renewals := range fx.Release {
		released += len(renewals)
	}
	if released > 0 {
		say("release %d", released)
	}
	if len(fx.Forget) > 0 {
		say("forget %d", len(fx.Forget))
	}
	if len(fx.Remember) > 0 {
		say("remember %d", len(fx.Remember))
	}
	switch t := fx.Task.(type) {
	case Prove:
		say("prove")
	case Settle:
		say("settle %d in %d, check %d", len(t.Renewals), t.Term, len(t.Check))
	case Relay:
		say("relay %d", len(t.Renewals))
	case Wait:
		say("wait")
	case Send:
		say("send")
		for _, v := range t.Verdicts {
			answer := "renewed for " + v.TTL.String()
			if v.Refused != 0 {
				answer = short(v.Refused)
			}
			say("%d %s", v.Number, answer)
		}
	}
	for _, idle := range []struct {
		is   bool
		says string
	}{{fx.Idle.Again, "again"}, {fx.Idle.Parked, "parked"}, {fx.Idle.Over, "over"}, {fx.Idle.Err != nil, "with an error"}} {
		if idle.is {
			say("%s", idle.says)
		}
	}
	return strings.Join(says, ", ")
}

func short(r tenurev1.ErrorReason) string { return strings.TrimPrefix(r.String(), "ERROR_REASON_") }

// dialogue drives one stream by hand.
type dialogue struct {
	t      *testing.T
	s      *Stream
	now    time.Time
	number uint64
	task   Task
	relay  []*Relayed // what was handed to the carrier
	queued []*Message
}

func newDialogue(t *testing.T, c Config) *dialogue {
	t.Helper()
	return &dialogue{t: t, s: NewStream(c), now: time.Unix(1_000_000, 0)}
}

// step takes an event, and returns what follows in one line.
func (d *dialogue) step(ev Event) string {
	d.t.Helper()
	fx := d.s.Step(d.now, ev)
	d.task = fx.Task
	if t, ok := fx.Task.(Relay); ok {
		d.relay = append(d.relay, t.Renewals...)
	}
	return told(fx)
}

// ask makes renewals of sessions that are named by their first byte.
func (d *dialogue) ask(sessions ...byte) []Asked {
	asked := make([]Asked, len(sessions))
	for i, session := range sessions {
		d.number++
		asked[i] = Asked{ID: storage.SessionID{session}, Number: d.number, Epoch: 1}
	}
	return asked
}

// came admits a message, whose right to renew is proved or not.
func (d *dialogue) came(unproven bool, sessions ...byte) string {
	d.t.Helper()
	fx := d.s.Step(d.now, Came{Asked: d.ask(sessions...)})
	if fx.Admit == nil {
		return told(fx)
	}
	for i := range fx.Admit.Strangers() {
		fx.Admit.Renewals[i].Unproven = unproven
	}
	d.queued = append(d.queued, fx.Admit)
	d.s.Step(d.now, Admitted{Message: fx.Admit})
	return told(fx)
}

// settled gives every renewal of the task the same verdict.
func (d *dialogue) settled(v expiry.Verdict) string {
	d.t.Helper()
	t, ok := d.task.(Settle)
	if !ok {
		d.t.Fatalf("the task is %T, want Settle", d.task)
	}
	for i := range t.Renewals {
		if t.Refusal(i) != 0 {
			continue
		}
		r := &t.Renewals[i]
		switch r.Verdict = v; v {
		case expiry.Renewed:
			r.TTL, r.Searched = time.Second, true
		case expiry.Missing:
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
		default:
		}
	}
	return d.step(Settled{})
}

// decided has the leader decide all that was relayed.
func (d *dialogue) decided(refused tenurev1.ErrorReason) string {
	d.t.Helper()
	var decisions []Decision
	for _, r := range d.relay {
		decisions = append(decisions, Decision{Relayed: r, Refused: refused, TTL: time.Second})
	}
	d.relay = nil
	return d.step(Decided{Decisions: decisions})
}

// enter brings a stream into a state. Wherever there is a renewal it is number 1.
func (d *dialogue) enter(state string) {
	d.t.Helper()
	steps := map[string][]func(){
		"empty":      nil,
		"queued":     {d.one},
		"full":       {d.fill},
		"proving":    {d.one, d.round},
		"settling":   {d.one, d.round, d.prove},
		"sending":    {d.one, d.round, d.prove, func() { d.settled(expiry.Superseded) }},
		"parked":     {d.one, d.round, d.prove, d.park},
		"looking":    {d.one, d.round, d.prove, d.park, d.round},
		"relaying":   {d.one, d.round, d.elsewhere},
		"relayed":    {d.one, d.round, d.elsewhere, d.hand},
		"decided":    {d.one, d.round, d.elsewhere, d.hand, func() { d.decided(0) }},
		"waiting":    {d.one, d.round, d.elsewhere, d.hand, d.refuse, d.round},
		"ended":      {d.end},
		"last":       {d.one, d.end},
		"parked end": {d.one, d.round, d.prove, d.park, d.end},
		"far end":    {d.one, d.round, d.elsewhere, d.hand, d.end},
		"broken":     {d.one, d.round, d.prove, d.park, func() { d.step(Ended{Err: errOfTests}) }},
		"closed":     {d.one, d.round, d.prove, d.park, func() { d.step(Closed{}) }},
	}
	todo, known := steps[state]
	if !known {
		d.t.Fatalf("there is no state %q", state)
	}
	for _, do := range todo {
		do()
	}
}

func (d *dialogue) one()       { d.came(false, 1) }
func (d *dialogue) round()     { d.step(Round{}) }
func (d *dialogue) prove()     { d.step(Proved{Term: 3}) }
func (d *dialogue) park()      { d.settled(expiry.Expiring) }
func (d *dialogue) elsewhere() { d.step(Elsewhere{Until: d.now.Add(time.Minute)}) }
func (d *dialogue) hand()      { d.step(Handed{}) }
func (d *dialogue) refuse()    { d.decided(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER) }
func (d *dialogue) end()       { d.step(Ended{}) }

func (d *dialogue) fill() {
	for d.s.MayRead() {
		d.one()
	}
}

// do takes an event by its name.
func (d *dialogue) do(event string) string {
	d.t.Helper()
	settled := map[string]expiry.Verdict{
		"renewed": expiry.Renewed, "expiring": expiry.Expiring, "missing": expiry.Missing,
		"superseded": expiry.Superseded, "not leading": expiry.NotLeading,
	}
	if v, ok := settled[event]; ok {
		return d.settled(v)
	}
	switch event {
	case "came":
		return d.came(false, 2)
	case "decided":
		return d.decided(0)
	case "decided late":
		d.now = d.now.Add(time.Hour)
		d.decided(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
		return d.step(Round{})
	case "decided, round":
		d.decided(0)
		return d.step(Round{})
	case "no leader, round":
		d.decided(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
		return d.step(Round{})
	case "gone, round":
		d.decided(tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
		return d.step(Round{})
	}
	return d.step(map[string]Event{
		"round": Round{}, "ended": Ended{}, "broken": Ended{Err: errOfTests}, "closed": Closed{},
		"proved": Proved{Term: 3}, "elsewhere": Elsewhere{Until: d.now.Add(time.Minute)}, "handed": Handed{}, "sent": Sent{},
		"unproved": Unproved{Refused: tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, Err: errOfTests},
		"again":    Again{}, "again, over": Again{Over: true},
	}[event])
}

// steps says what every event does in every state in which it is due, to streams of every origin, or of one.
var steps = []struct {
	state  string
	of     string // origins: c, m and o for Client, Member and Call
	event  string
	want   string
	slots  int
	unread bool // nothing may be read after it
}{
	{"empty", "cmo", "came", "admit", 1, false},
	{"empty", "cmo", "ended", "", 0, true},
	{"empty", "cmo", "broken", "", 0, true},
	{"empty", "cmo", "closed", "", 0, true},
	{"empty", "cmo", "round", "", 0, false},
	{"queued", "cmo", "came", "admit", 2, false},
	{"queued", "cmo", "ended", "", 1, true},
	{"queued", "cmo", "broken", "", 1, true},
	{"queued", "cmo", "closed", "release 1", 0, true},
	{"queued", "cmo", "round", "prove", 1, false},
	{"full", "c", "ended", "", 16, true},
	{"full", "c", "broken", "", 16, true},
	{"full", "c", "closed", "release 16", 0, true},
	{"full", "c", "round", "prove", 16, true},
	{"proving", "cmo", "came", "admit", 2, false},
	{"proving", "cmo", "ended", "", 1, true},
	{"proving", "cmo", "broken", "", 1, true},
	{"proving", "cmo", "closed", "release 1", 0, true},
	{"proving", "cmo", "proved", "settle 1 in 3, check 0", 1, false},
	{"proving", "c", "unproved", "release 1, send, 1 NO_LEADER", 1, false},
	{"proving", "mo", "unproved", "over, with an error", 1, false},
	{"proving", "co", "elsewhere", "release 1, relay 1", 1, false},
	{"settling", "cmo", "came", "admit", 2, false},
	{"settling", "cmo", "ended", "", 1, true},
	{"settling", "cmo", "broken", "", 1, true},
	{"settling", "cmo", "closed", "release 1", 0, true},
	{"settling", "c", "renewed", "remember 1, send, 1 renewed for 1s", 1, false},
	{"settling", "mo", "renewed", "send, 1 renewed for 1s", 1, false},
	{"settling", "cmo", "superseded", "send, 1 SESSION_SUPERSEDED", 1, false},
	{"settling", "c", "missing", "forget 1, send, 1 SESSION_EXPIRED", 1, false},
	{"settling", "mo", "missing", "send, 1 SESSION_EXPIRED", 1, false},
	{"settling", "cmo", "not leading", "send, 1 NO_LEADER", 1, false},
	{"settling", "cmo", "expiring", "again, parked", 0, false},
	{"sending", "cmo", "came", "admit", 2, false},
	{"sending", "cmo", "ended", "", 1, true},
	{"sending", "cmo", "broken", "", 1, true},
	{"sending", "cmo", "closed", "", 0, true},
	{"sending", "cmo", "sent", "again", 0, false},
	{"parked", "cmo", "came", "admit", 1, false},
	{"parked", "cmo", "ended", "", 0, true},
	{"parked", "cmo", "broken", "", 0, true},
	{"parked", "cmo", "closed", "release 1", 0, true},
	{"parked", "cmo", "round", "settle 1 in 3, check 0", 0, false},
	{"looking", "cmo", "came", "admit", 1, false},
	{"looking", "cmo", "ended", "", 0, true},
	{"looking", "cmo", "broken", "", 0, true},
	{"looking", "cmo", "closed", "release 1", 0, true},
	{"looking", "c", "renewed", "remember 1, send, 1 renewed for 1s", 0, false},
	{"looking", "mo", "renewed", "send, 1 renewed for 1s", 0, false},
	{"looking", "cmo", "superseded", "send, 1 SESSION_SUPERSEDED", 0, false},
	{"looking", "c", "missing", "forget 1, send, 1 SESSION_EXPIRED", 0, false},
	{"looking", "mo", "missing", "send, 1 SESSION_EXPIRED", 0, false},
	{"looking", "cmo", "not leading", "send, 1 NO_LEADER", 0, false},
	{"looking", "cmo", "expiring", "parked", 0, false},
	{"relaying", "co", "came", "admit", 2, false},
	{"relaying", "co", "ended", "", 1, true},
	{"relaying", "co", "closed", "", 0, true},
	{"relaying", "co", "handed", "again", 1, false},
	{"relaying", "co", "decided", "", 1, false},
	{"relayed", "co", "came", "admit", 2, false},
	{"relayed", "co", "ended", "", 1, true},
	{"relayed", "co", "broken", "", 1, true},
	{"relayed", "co", "closed", "", 0, true},
	{"relayed", "co", "round", "", 1, false},
	{"relayed", "co", "decided", "", 1, false},
	{"relayed", "c", "decided, round", "remember 1, send, 1 renewed for 1s", 1, false},
	{"relayed", "o", "decided, round", "send, 1 renewed for 1s", 1, false},
	{"relayed", "c", "no leader, round", "send, 1 NO_LEADER", 1, false},
	{"relayed", "o", "no leader, round", "wait", 1, false},
	{"relayed", "c", "gone, round", "forget 1, send, 1 SESSION_EXPIRED", 1, false},
	{"relayed", "o", "gone, round", "send, 1 SESSION_EXPIRED", 1, false},
	{"relayed", "co", "decided late", "send, 1 NO_LEADER", 1, false},
	{"decided", "co", "came", "admit", 2, false},
	{"decided", "co", "ended", "", 1, true},
	{"decided", "co", "broken", "", 1, true},
	{"decided", "co", "closed", "", 0, true},
	{"decided", "c", "round", "remember 1, send, 1 renewed for 1s", 1, false},
	{"decided", "o", "round", "send, 1 renewed for 1s", 1, false},
	{"waiting", "o", "came", "admit", 2, false},
	{"waiting", "o", "closed", "release 1", 0, true},
	{"waiting", "o", "again", "prove", 1, false},
	{"waiting", "o", "again, over", "release 1, send, 1 NO_LEADER", 1, false},
	{"ended", "cmo", "round", "over", 0, true},
	{"ended", "cmo", "closed", "", 0, true},
	{"last", "cmo", "round", "prove", 1, true},
	{"last", "cmo", "closed", "release 1", 0, true},
	{"parked end", "cmo", "round", "settle 1 in 3, check 0", 0, true},
	{"parked end", "cmo", "closed", "release 1", 0, true},
	{"far end", "co", "round", "", 1, true},
	{"far end", "co", "closed", "", 0, true},
	{"far end", "c", "decided, round", "remember 1, send, 1 renewed for 1s", 1, true},
	{"far end", "o", "decided, round", "send, 1 renewed for 1s", 1, true},
	{"broken", "cmo", "round", "settle 1 in 3, check 0", 0, true},
	{"broken", "cmo", "closed", "release 1", 0, true},
	{"closed", "cmo", "came", "", 0, true},
	{"closed", "cmo", "ended", "", 0, true},
	{"closed", "cmo", "round", "", 0, true},
	{"closed", "cmo", "decided", "", 0, true},
	{"closed", "cmo", "closed", "", 0, true},
}

// TestEveryEventInEveryState takes one event in each state.
func TestEveryEventInEveryState(t *testing.T) {
	for _, tc := range steps {
		for _, of := range tc.of {
			origin := map[rune]Origin{'c': Client, 'm': Member, 'o': Call}[of]
			t.Run(fmt.Sprintf("%c/%s/%s", of, tc.state, tc.event), func(t *testing.T) {
				d := newDialogue(t, Config{Origin: origin, SessionsMax: 8})
				d.enter(tc.state)
				if got := d.do(tc.event); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if d.s.slots != tc.slots || d.s.MayRead() == tc.unread {
					t.Errorf("%d slots are taken, and more may be read: %v", d.s.slots, d.s.MayRead())
				}
			})
		}
	}
}
