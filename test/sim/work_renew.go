package sim

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	renewal "github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// margin is what a client takes off its lease, for clocks that differ.
func margin(ttl time.Duration) time.Duration { return max(50*time.Millisecond, ttl/50) }

// keepAlive renews the session until it ends. Where the plan lets clients lapse, one falls silent now and then for about as long as
// its session lasts.
func (s *session) keepAlive() {
	c := s.c
	pause := s.ttl / 3
	if lapses := c.w.plan.Lapses; lapses > 0 && !c.w.quiet && c.dice.Float64() < lapses {
		c.w.floors.ClientLapses++
		pause = between(c.dice, s.ttl*9/10, s.ttl*5/4)
	}
	c.after(pause, func() {
		if s.ended {
			return
		}
		s.renew()
		s.keepAlive()
	})
}

// renew asks for one renewal. An answer counts as long as the session may live, as on the product's streams, also when the client has
// gone to another member meanwhile.
func (s *session) renew() {
	c := s.c
	asked := c.clock()
	epoch, single := s.epoch, c.dice.IntN(4) == 0
	op := &check.Op{Kind: check.KindRenew, Session: s.text, Epoch: epoch}
	k := &call{op: op, tries: 1, patience: s.ttl}
	k.send = func(r *life, k *call, answer func(reply)) {
		renewing{r}.renewSession(k, renewal.Asked{Session: s.text, ID: s.id, Number: uint64(op.ID), Epoch: epoch}, single, answer)
	}
	k.done = func(rep reply) {
		if op.Outcome != check.OK {
			s.renewSoon()
			return
		}
		switch rep.verdict.Refused {
		case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
			if rep.verdict.TTL != s.ttl {
				c.w.violated("renewal", "session %s was renewed for %v, its TTL is %v", s.text, rep.verdict.TTL, s.ttl)
			}
			if c.clock()-asked > attemptTimeout {
				c.w.floors.RenewalsAnsweredLate++
			}
			if !s.ended {
				s.safe = max(s.safe, asked+s.ttl-margin(s.ttl))
			}
		case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
			op.Outcome, op.Reason, s.back = check.Refused, check.Missing, false
			s.end()
		default:
			op.Outcome, op.Reason = check.Refused, rep.verdict.Refused.String()
			if k.ask != nil {
				c.w.truth.tokens.refused(k.caller, k.ask, time.Duration(op.Call), reason.New(rep.verdict.Refused, "by the verdict"))
			}
			s.renewSoon()
		}
	}
	if c.w.plan.Tokens {
		k.ask = askOfRenewal(s, single)
	}
	c.begin(k)
}

// renewSoon asks once more after a moment, since a renewal was in vain.
func (s *session) renewSoon() {
	if s.hurries {
		return
	}
	s.hurries = true
	s.c.after(between(s.c.dice, 20*time.Millisecond, 250*time.Millisecond), func() {
		if s.hurries = false; (!s.ended || s.back) && !s.c.w.silent {
			s.renew()
		}
	})
}

// comeBack lets a program renew its session whose end is decided until the end is in the log, so that the two meet. It may be one that
// was frozen, or was thought to have died, or never heard that its session exists.
func (w *World) comeBack(id storage.SessionID, within time.Duration) {
	s := w.sessions[id]
	if s == nil || w.silent || s.c.dice.IntN(4) == 0 {
		return
	}
	s.back = true
	thaws := s.c.dice.IntN(2) == 0
	for range 1 + s.c.dice.IntN(4) {
		w.after(between(s.c.dice, 0, within), func() {
			if thaws && s.c.frozen {
				s.c.thaw()
			}
			s.c.soon(s.renew)
		})
	}
}

// lastWords lets some clients renew their sessions just when another member begins to lead, and then die.
func (w *World) lastWords() {
	if !w.plan.Deaths || w.quiet {
		return
	}
	for _, c := range w.clients {
		s := c.session
		if s == nil || s.ended || c.dice.IntN(8) > 0 {
			continue
		}
		for range 1 + c.dice.IntN(3) {
			c.after(between(c.dice, 0, w.plan.electionTimeout()), func() {
				if !s.ended {
					s.renew()
				}
			})
		}
		c.after(w.plan.electionTimeout(), func() {
			if !s.ended {
				w.floors.ClientDeaths++
				s.end()
			}
		})
	}
}
