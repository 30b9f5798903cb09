package core

import (
	"time"

	"github.com/tenure-io/tenure/server/expiry"
)

// echo is what the answer to a renewal repeats.
type echo struct {
	session string // as the client wrote it; another member asks by number alone
	number  uint64
}

// parked are renewals of one stream that wait for the outcomes of Expires.
type parked struct {
	Batch
	echoes []echo // one for each
}

// park keeps a renewal if there is room, and reports whether it did.
func (p *parked) park(r *expiry.Renewal, e echo) bool {
	if len(p.Renewals) >= ParkedMax {
		return false
	}
	p.Renewals = append(p.Renewals, r.Move())
	p.echoes = append(p.echoes, e)
	return true
}

// settled answers those whose Expire has an outcome now, and keeps the others.
func (p *parked) settled(s *Stream, now time.Time, fx *Effects) {
	still := 0
	for i := range p.Renewals {
		if p.Renewals[i].Verdict == expiry.Expiring && p.Refusal(i) == 0 {
			p.Renewals[still], p.echoes[still] = p.Renewals[i], p.echoes[i]
			still++
			continue
		}
		s.verdict(&p.Batch, i, p.echoes[i], now, fx)
	}
	p.refused = nil
	if still == 0 {
		*p = parked{}
		return
	}
	clear(p.Renewals[still:])
	clear(p.echoes[still:])
	p.Renewals, p.echoes = p.Renewals[:still], p.echoes[:still]
}
