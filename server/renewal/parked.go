package renewal

import "github.com/tenure-io/tenure/server/expiry"

// parkedMax is how many renewals of a stream may wait for the outcome of an Expire.
const parkedMax = 64 << 10

// parkedRenewal waits for the outcome of an Expire.
type parkedRenewal struct {
	renewal expiry.Renewal
	id      string // the session's, as the client wrote it; another member asks by number alone
	number  uint64
}

// parkedRenewals are those of one stream. One goroutine uses them.
type parkedRenewals struct {
	timers  *expiry.Timers
	waiting []parkedRenewal
	term    uint64 // the highest in which this member was proved to lead
}

// park keeps a renewal if it has to wait and there is room, and reports whether it did.
func (p *parkedRenewals) park(r *expiry.Renewal, id string, number uint64) bool {
	if r.Verdict != expiry.Expiring || len(p.waiting) >= parkedMax {
		return false
	}
	p.waiting = append(p.waiting, parkedRenewal{renewal: r.Move(), id: id, number: number})
	return true
}

// settle tells of those whose Expire has an outcome now, and keeps the others.
func (p *parkedRenewals) settle(decided func(*parkedRenewal) error) error {
	still := p.waiting[:0]
	for i := range p.waiting {
		w := p.waiting[i]
		one := []expiry.Renewal{w.renewal}
		p.timers.Settle(p.term, one)
		w.renewal = one[0]
		if w.renewal.Verdict == expiry.Expiring {
			still = append(still, w)
			continue
		}
		if err := decided(&w); err != nil {
			p.waiting = append(still, p.waiting[i+1:]...) // This one waits no more; it must not be released, too.
			return err
		}
	}
	clear(p.waiting[len(still):])
	p.waiting = still
	return nil
}

// release gives up those that wait.
func (p *parkedRenewals) release() {
	for i := range p.waiting {
		p.timers.Release([]expiry.Renewal{p.waiting[i].renewal})
	}
}
