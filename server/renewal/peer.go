package renewal

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// ServePeer serves the renewals of another member's clients. One goroutine reads, so that every renewal postpones its
// session's end from the moment it came; this one waits for proofs, settles and answers. fence refuses a term in which this
// member does not lead.
func (a *Renewer) ServePeer(
	stream grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse], fence func(term uint64) error,
) error {
	ctx, cancel := a.UntilStop(stream.Context())
	defer cancel()
	p := &peerRenewals{
		api:    a,
		fence:  fence,
		stream: stream,
		news:   make(chan struct{}, 1),
		slots:  make(chan struct{}, renewalMessagesMax),
		done:   make(chan struct{}),
		parked: parkedRenewals{timers: a.Timers},
	}
	defer p.close()
	go p.read() // It ends when gRPC ends the stream, which is right after this method returns.
	return p.serve(ctx)
}

// peerMessage is one message of another member.
type peerMessage struct {
	asked    []*peerv1.Renewal
	renewals []expiry.Renewal
}

// peerRenewals serves one stream of another member.
type peerRenewals struct {
	api    *Renewer
	fence  func(term uint64) error
	stream grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse]
	news   chan struct{} // one slot: queue or ended changed
	slots  chan struct{} // one element for each message that waits
	done   chan struct{} // closed when nobody takes messages any more

	mu     sync.Mutex // guards what follows
	queue  []*peerMessage
	ended  error // why no more messages come
	closed bool

	parked parkedRenewals // belongs to serve
}

// read takes messages from the stream until it ends.
func (p *peerRenewals) read() {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.done:
			return
		}
		request, err := p.stream.Recv()
		if err == nil && len(request.GetRenewals()) > renewalsMax {
			err = reason.Invalid("renewals", "are too many")
		}
		if err == nil && slices.ContainsFunc(request.GetRenewals(), tooLong) {
			err = reason.Invalid("renewals", "have an id or a hash that is too long")
		}
		if err == nil {
			err = p.fence(request.GetTerm())
		}
		p.take(request, err)
		if err != nil {
			return
		}
	}
}

// tooLong reports whether a renewal takes more memory than any that a member makes: it is kept until it has a verdict.
func tooLong(r *peerv1.Renewal) bool {
	return len(r.GetSessionId()) > len(storage.SessionID{}) || len(r.GetSecretSha256()) > sha256.Size
}

// take notes that renewals came, or why no more do.
func (p *peerRenewals) take(request *peerv1.RenewRequest, err error) {
	timers := p.api.Timers
	var m *peerMessage
	if err == nil {
		lazy := &lazySnapshot{}
		defer lazy.close(p.api)
		m = &peerMessage{asked: request.GetRenewals(), renewals: make([]expiry.Renewal, len(request.GetRenewals()))}
		for i, r := range m.asked {
			id, _ := storage.SessionIDFromBytes(r.GetSessionId()) // One that is none is missing.
			m.renewals[i] = expiry.Renewal{ID: id, Epoch: r.GetEpoch(), Shown: r.GetSecretSha256()}
			p.api.lookBefore(&m.renewals[i], shownSecrets{p.api}.believes(r), lazy)
		}
		timers.Receive(m.renewals)
	}
	p.mu.Lock()
	closed := p.closed
	switch {
	case err != nil:
		p.ended = err
	case !closed:
		p.queue = append(p.queue, m)
	}
	p.mu.Unlock()
	if closed && m != nil {
		timers.Release(m.renewals)
	}
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// close gives up what waits.
func (p *peerRenewals) close() {
	close(p.done)
	p.mu.Lock()
	p.closed = true
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	timers := p.api.Timers
	for _, m := range queue {
		timers.Release(m.renewals)
	}
	p.parked.release()
}

// serve answers until the stream or the leadership ends.
func (p *peerRenewals) serve(ctx context.Context) error {
	for {
		var changed <-chan struct{}
		if len(p.parked.waiting) > 0 {
			changed = p.api.Timers.Changed()
			if err := p.settleParked(); err != nil {
				return err
			}
		}
		p.mu.Lock()
		queue, ended := p.queue, p.ended
		p.queue = nil
		p.mu.Unlock()
		if len(queue) > 0 {
			if err := p.answer(ctx, queue); err != nil {
				return err
			}
			continue
		}
		if ended != nil {
			if errors.Is(ended, io.EOF) {
				return nil
			}
			return ended
		}
		select {
		case <-p.news:
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answer proves once for some messages, and answers each of them. Without proof the stream ends: the other member sends
// what has no verdict to whoever leads then.
func (p *peerRenewals) answer(ctx context.Context, queue []*peerMessage) error {
	term, err := p.api.renewalProof(ctx)
	for i, m := range queue {
		if err == nil {
			err = p.answerOne(m, term)
		}
		if err != nil {
			for _, rest := range queue[i:] {
				p.api.Timers.Release(rest.renewals)
			}
			return err
		}
		<-p.slots
	}
	return nil
}

// answerOne settles the renewals of a message and sends the verdicts.
func (p *peerRenewals) answerOne(m *peerMessage, term uint64) error {
	a := p.api
	lazy := &lazySnapshot{}
	defer lazy.close(a)
	p.parked.term = max(p.parked.term, term)
	slab := make([]peerv1.RenewalVerdict, len(m.renewals))
	answer := &peerv1.RenewResponse{Verdicts: make([]*peerv1.RenewalVerdict, 0, len(m.renewals))}
	for i := range m.renewals {
		r, asked, v := &m.renewals[i], m.asked[i], &slab[i]
		v.Number = asked.GetNumber()
		wrong := false
		if r.Unproven {
			right, err := a.checkRenewalSecret(r, shownSecrets{a}.believes(asked), lazy)
			if err != nil {
				return err
			}
			wrong, r.Unproven = right == rightWrong, right != rightShown
		}
		if wrong {
			a.Timers.Release(m.renewals[i : i+1])
			v.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG
		} else {
			a.Timers.Settle(term, m.renewals[i:i+1])
			if p.parked.park(r, "", v.GetNumber()) {
				continue
			}
			if err := p.decide(v, r, lazy); err != nil {
				return err
			}
		}
		answer.Verdicts = append(answer.Verdicts, v)
	}
	if len(answer.GetVerdicts()) == 0 {
		return nil
	}
	return p.stream.Send(answer)
}

// decide writes the verdict of a settled renewal.
func (p *peerRenewals) decide(v *peerv1.RenewalVerdict, r *expiry.Renewal, lazy *lazySnapshot) (err error) {
	switch r.Verdict {
	case expiry.Renewed:
		v.TtlMs = r.TTL.Milliseconds()
	case expiry.Superseded:
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED
	case expiry.Missing:
		v.Refused, err = p.api.missingReason(r.ID, lazy)
	case expiry.NotLeading, expiry.Pending:
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
	case expiry.Expiring:
		p.api.Timers.Release([]expiry.Renewal{*r})
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS
	}
	return err
}

// settleParked answers renewals whose Expire has an outcome now.
func (p *peerRenewals) settleParked() error {
	a := p.api
	lazy := &lazySnapshot{}
	defer lazy.close(a)
	answer := &peerv1.RenewResponse{}
	err := p.parked.settle(func(w *parkedRenewal) error {
		v := &peerv1.RenewalVerdict{Number: w.number}
		answer.Verdicts = append(answer.Verdicts, v)
		return p.decide(v, &w.renewal, lazy)
	})
	if err != nil {
		return err
	}
	if len(answer.GetVerdicts()) == 0 {
		return nil
	}
	return p.stream.Send(answer)
}
