package renewal

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

// farMessage is a message whose renewals another member decides.
type farMessage struct {
	keeper  *keeper
	message *renewalMessage
	left    int // renewals without verdict; belongs to serve
}

// farVerdict is what the leader said about one renewal of a message.
type farVerdict struct {
	of      *farMessage
	at      int
	refused tenurev1.ErrorReason
	ttl     time.Duration
}

// decided takes a verdict of the leader. It never waits.
func (m *farMessage) decided(at int, refused tenurev1.ErrorReason, ttl time.Duration) {
	k := m.keeper
	k.mu.Lock()
	if !k.closed {
		k.far = append(k.far, farVerdict{of: m, at: at, refused: refused, ttl: ttl})
	}
	k.mu.Unlock()
	k.ring()
}

// relayAll has the leader decide messages, because this member does not lead.
func (k *keeper) relayAll(messages []*renewalMessage) error {
	for i, m := range messages {
		k.api.Timers.Release(m.renewals)
		if err := k.relayOne(m); err != nil {
			for _, rest := range messages[i+1:] {
				k.api.Timers.Release(rest.renewals)
			}
			return err
		}
	}
	return nil
}

// relayOne has the leader decide the renewals of a message, and answers those that nobody needs to be asked about.
func (k *keeper) relayOne(m *renewalMessage) error {
	far := &farMessage{keeper: k, message: m}
	var refused []*tenurev1.RenewalVerdict
	slab := make([]relayedRenewal, len(m.renewals))
	renewals := make([]*relayedRenewal, 0, len(m.renewals))
	k.mu.Lock()
	for i, asked := range m.asked {
		if m.refused != nil && m.refused[i] != 0 {
			refused = append(refused, &tenurev1.RenewalVerdict{
				SessionId: asked.session, Number: asked.number, Refused: m.refused[i],
			})
			continue
		}
		r := &slab[i]
		r.id, r.epoch, r.sink, r.at = m.renewals[i].ID, asked.epoch, far, i
		r.secret = m.renewals[i].Shown
		if known := k.known.byID[r.id]; known != nil {
			r.proven, r.secret = true, known.shown
		}
		renewals = append(renewals, r)
	}
	k.mu.Unlock()
	far.left = len(renewals)
	k.relayed += len(renewals)
	if far.left == 0 {
		k.free(m)
	} else {
		k.api.renewals.add(renewals)
	}
	return k.sendVerdicts(refused)
}

// takeFar sends the verdicts that came from the leader.
func (k *keeper) takeFar() error {
	k.mu.Lock()
	far := k.far
	k.far = nil
	k.mu.Unlock()
	for len(far) > 0 {
		n := min(len(far), renewalsMax)
		verdicts := make([]*tenurev1.RenewalVerdict, 0, n)
		for _, f := range far[:n] {
			asked := &f.of.message.asked[f.at]
			v := &tenurev1.RenewalVerdict{SessionId: asked.session, Number: asked.number, Refused: f.refused}
			if f.refused == 0 {
				v.Ttl = k.duration(f.ttl)
			}
			k.learn(&f.of.message.renewals[f.at], f.refused, f.ttl)
			verdicts = append(verdicts, v)
			if f.of.left--; f.of.left == 0 {
				k.free(f.of.message)
			}
		}
		k.relayed -= n
		far = far[n:]
		if err := k.sendVerdicts(verdicts); err != nil {
			return err
		}
	}
	return nil
}

// learn notes what a verdict of the leader on a renewal says about its session.
func (k *keeper) learn(r *expiry.Renewal, refused tenurev1.ErrorReason, ttl time.Duration) {
	k.mu.Lock()
	known := k.known.has(r.ID)
	k.mu.Unlock()
	switch refused {
	case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		if !known {
			r.Ref, r.TTL = expiry.Ref{}, ttl
			k.remember(r)
		}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		k.forget(r.ID)
	default:
	}
}
