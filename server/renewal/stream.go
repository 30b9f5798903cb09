package renewal

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

const (
	// renewalsMax is how many renewals a message may carry, and how many verdicts an answer carries.
	renewalsMax = 1024
	// renewalMessagesMax is how many messages of a stream may wait; beyond that the stream is not read.
	renewalMessagesMax = 16
	// renewalsPerSlot is how many renewals take the room of one more message, so that at most 2 048 of a stream wait.
	renewalsPerSlot = 128
	// hintsWaitingMax is how many hints of a stream may wait; more are dropped.
	hintsWaitingMax = 1024
	// hintsMax is how many hints an answer carries.
	hintsMax = 256
)

// KeepAlive serves one stream of renewals. One goroutine reads, so that every renewal postpones its session's end from the moment
// it came; this one waits for proofs, settles and answers.
func (a *Renewer) KeepAlive(stream grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]) error {
	k := &keeper{
		api:    a,
		stream: stream,
		known:  newKnownSessions(a.streamSessionsMax, time.Now),
		news:   make(chan struct{}, 1),
		slots:  make(chan struct{}, renewalMessagesMax),
		done:   make(chan struct{}),
		parked: parkedRenewals{timers: a.Timers},
	}
	k.unread = newUnreadAlarm(a.PatienceWithClients())
	defer k.unread.stop()
	go k.read() // It ends when gRPC ends the stream, which is right after this method returns.
	ended := make(chan error, 1)
	go func() { // A send cannot be ended from outside: it ends when gRPC ends the stream.
		err := guarded(a.Log, func() error { return k.serve(stream.Context()) })
		k.close()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-k.unread.rang:
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED,
			"the client has not read for %v", k.unread.patience)
	}
}

// renewalMessage is one message of a stream.
type renewalMessage struct {
	asked    []askedRenewal
	slots    int // how many it takes
	renewals []expiry.Renewal
	refused  []tenurev1.ErrorReason // unspecified for those that are not refused; nil if none is
	strange  []int                  // those of sessions that the stream had not renewed yet
}

// refuse notes why one renewal is refused.
func (m *renewalMessage) refuse(i int, reason tenurev1.ErrorReason) {
	if m.refused == nil {
		m.refused = make([]tenurev1.ErrorReason, len(m.renewals))
	}
	m.refused[i] = reason
}

// keeper serves one KeepAlive stream.
type keeper struct {
	api    *Renewer
	stream grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	news   chan struct{} // one slot: queue, hints or ended changed
	slots  chan struct{} // one element for each message that waits
	done   chan struct{} // closed when nobody takes messages any more
	unread *unreadAlarm

	mu     sync.Mutex // guards what follows
	known  *knownSessions
	queue  []*renewalMessage
	far    []farVerdict // what the leader said, where that is another member
	hints  []*tenurev1.SessionHint
	ended  error // why no more messages come
	closed bool

	parked   parkedRenewals // belongs to serve, as what follows
	relayed  int            // renewals that wait for another member's verdict
	ttl      time.Duration
	ttlProto *durationpb.Duration
}

// read takes messages from the stream until it ends.
func (k *keeper) read() {
	for {
		select {
		case k.slots <- struct{}{}:
		case <-k.done:
			return
		}
		request, err := k.stream.Recv()
		if err == nil && len(request.GetRenewals()) > renewalsMax {
			err = reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the message has %d renewals; at most %d are allowed",
				len(request.GetRenewals()), renewalsMax).With("limit", "renewals_max").
				With("limit_value", strconv.Itoa(renewalsMax))
		}
		if err != nil {
			k.end(err)
			return
		}
		if !k.receive(request) {
			return
		}
	}
}

// end says that no more messages come.
func (k *keeper) end(err error) {
	k.mu.Lock()
	k.ended = err
	k.mu.Unlock()
	k.ring()
}

func (k *keeper) ring() {
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// receive notes that renewals came. It waits for the room that they take, and reports whether the stream goes on.
func (k *keeper) receive(request *tenurev1.KeepAliveRequest) bool {
	m := &renewalMessage{asked: askedRenewals(request), slots: 1, renewals: make([]expiry.Renewal, len(request.GetRenewals()))}
	var forgotten []storage.SessionID
	k.mu.Lock()
	for i, r := range request.GetRenewals() {
		id, err := storage.ParseSessionID(r.GetSessionId())
		if err != nil {
			m.refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID)
			continue
		}
		ref, known := k.known.renewal(id)
		if !known {
			ok, idle := k.known.room(len(m.strange))
			forgotten = append(forgotten, idle...)
			if !ok {
				m.refuse(i, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED)
				continue
			}
			m.strange = append(m.strange, i)
		}
		m.renewals[i] = expiry.Renewal{ID: id, Epoch: r.GetEpoch(), Ref: ref}
	}
	k.mu.Unlock()
	if len(forgotten) > 0 {
		k.api.hints.remove(k, forgotten...)
	}
	lazy := &lazySnapshot{}
	for _, i := range m.strange {
		m.renewals[i].Shown = call.Hashed(m.asked[i].secret)
		k.api.lookBefore(&m.renewals[i], false, lazy)
	}
	lazy.close(k.api)
	k.api.Timers.Receive(m.renewals)
	if !k.makeRoom(m) {
		k.api.Timers.Release(m.renewals)
		return false
	}
	k.mu.Lock()
	closed := k.closed
	if !closed {
		k.queue = append(k.queue, m)
	}
	k.mu.Unlock()
	if closed {
		k.api.Timers.Release(m.renewals)
		return false
	}
	k.ring()
	return true
}

// makeRoom takes the slots of a message beyond its first. It reports false if the stream ended meanwhile.
func (k *keeper) makeRoom(m *renewalMessage) bool {
	for range len(m.asked) / renewalsPerSlot {
		select {
		case k.slots <- struct{}{}:
			m.slots++
		case <-k.done:
			return false
		}
	}
	return true
}

// free gives the slots of a message back, once all of it is answered.
func (k *keeper) free(m *renewalMessage) {
	for range m.slots {
		<-k.slots
	}
}

// close gives up what waits.
func (k *keeper) close() {
	close(k.done)
	k.mu.Lock()
	k.closed = true
	queue := k.queue
	k.queue = nil
	k.mu.Unlock()
	k.api.hints.remove(k, k.known.all()...) // Nobody writes known any more.
	for _, m := range queue {
		k.api.Timers.Release(m.renewals)
	}
	k.parked.release()
}

// take returns the messages and hints that wait, and why no more messages come, if so.
func (k *keeper) take() ([]*renewalMessage, []*tenurev1.SessionHint, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	queue, hints := k.queue, k.hints
	k.queue, k.hints = nil, nil
	return queue, hints, k.ended
}

// hint keeps a hint until it can be sent. It never waits; if too many wait, it drops the hint.
func (k *keeper) hint(h *tenurev1.SessionHint) {
	k.mu.Lock()
	if !k.closed && len(k.hints) < hintsWaitingMax {
		k.hints = append(k.hints, h)
	}
	k.mu.Unlock()
	k.ring()
}

// sendHints sends hints, if there are some.
func (k *keeper) sendHints(hints []*tenurev1.SessionHint) error {
	for part := range slices.Chunk(hints, hintsMax) {
		err := k.transmit(&tenurev1.KeepAliveResponse{
			Header: k.api.Header(k.api.Node.Store().Applied()),
			Hints:  part,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answerAll sends verdicts on messages, those that came from the leader meanwhile, and then hints.
func (k *keeper) answerAll(ctx context.Context, messages []*renewalMessage, hints []*tenurev1.SessionHint) error {
	if len(messages) > 0 {
		if err := k.answer(ctx, messages); err != nil {
			return err
		}
	}
	if err := k.takeFar(); err != nil {
		return err
	}
	return k.sendHints(hints)
}

// serve answers until the client is done, or the stream or the server ends.
func (k *keeper) serve(ctx context.Context) error {
	for {
		var changed <-chan struct{}
		if len(k.parked.waiting) > 0 {
			changed = k.api.Timers.Changed()
			if err := k.settleParked(); err != nil {
				return err
			}
			if len(k.parked.waiting) == 0 {
				continue
			}
		}
		messages, hints, ended := k.take()
		if err := k.answerAll(ctx, messages, hints); err != nil {
			return err
		}
		if len(messages) > 0 {
			continue
		}
		switch {
		case errors.Is(ended, io.EOF) && len(k.parked.waiting)+k.relayed == 0:
			return nil
		case ended != nil && !errors.Is(ended, io.EOF):
			return ended
		}
		select {
		case <-k.news:
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answer proves once for some messages, and answers each of them.
func (k *keeper) answer(ctx context.Context, messages []*renewalMessage) error {
	if w, _ := k.api.Relay.Present(); w != nil && !w.Here() {
		return k.relayAll(messages)
	}
	term, proofErr := k.api.renewalProof(ctx)
	if proofErr != nil && k.api.Relay.Elsewhere() {
		return k.relayAll(messages)
	}
	for i, m := range messages {
		if err := k.answerOne(m, term, proofErr); err != nil {
			for _, rest := range messages[i:] {
				k.api.Timers.Release(rest.renewals)
			}
			return err
		}
		k.free(m)
	}
	return nil
}

// answerOne settles the renewals of a message and sends the verdicts.
func (k *keeper) answerOne(m *renewalMessage, term uint64, proofErr error) error {
	lazy := &lazySnapshot{}
	defer lazy.close(k.api)
	if proofErr != nil {
		k.api.Timers.Release(m.renewals)
		return k.send(m, lazy, k.api.renewalRefusal(proofErr))
	}
	if err := k.authorise(m, lazy); err != nil {
		return err
	}
	if m.refused == nil {
		k.api.Timers.Settle(term, m.renewals)
	} else {
		for i := range m.renewals {
			one := m.renewals[i : i+1]
			if m.refused[i] == 0 {
				k.api.Timers.Settle(term, one)
			} else {
				k.api.Timers.Release(one)
			}
		}
	}
	k.parked.term = max(k.parked.term, term)
	return k.send(m, lazy, 0)
}

// authorise refuses renewals of sessions that this stream has not renewed yet, unless they bring what is needed.
func (k *keeper) authorise(m *renewalMessage, lazy *lazySnapshot) error {
	for _, i := range m.strange {
		k.mu.Lock()
		known := k.known.has(m.renewals[i].ID)
		k.mu.Unlock()
		if known || !m.renewals[i].Unproven {
			m.renewals[i].Unproven = false
			continue // This message or an earlier one brought what was needed.
		}
		right, err := k.api.checkRenewalSecret(&m.renewals[i], false, lazy)
		if err != nil {
			return err
		}
		m.renewals[i].Unproven = right != rightShown
		if right == rightWrong {
			m.refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
		}
	}
	return nil
}

// send sends the verdicts of a message. all refuses those that are not refused for another reason.
func (k *keeper) send(m *renewalMessage, lazy *lazySnapshot, all tenurev1.ErrorReason) error {
	slab := make([]tenurev1.RenewalVerdict, len(m.renewals))
	verdicts := make([]*tenurev1.RenewalVerdict, 0, len(m.renewals))
	for i := range m.renewals {
		asked, r := &m.asked[i], &m.renewals[i]
		reason := all
		if m.refused != nil && m.refused[i] != 0 {
			reason = m.refused[i]
		}
		v := &slab[i]
		v.SessionId, v.Number = asked.session, asked.number
		if reason == 0 {
			if k.parked.park(r, asked.session, asked.number) {
				continue
			}
			if err := k.decide(v, r, lazy); err != nil {
				return err
			}
		} else {
			v.Refused = reason
		}
		verdicts = append(verdicts, v)
	}
	return k.sendVerdicts(verdicts)
}

func (k *keeper) sendVerdicts(verdicts []*tenurev1.RenewalVerdict) error {
	if len(verdicts) == 0 {
		return nil
	}
	return k.transmit(&tenurev1.KeepAliveResponse{
		Header:   k.api.Header(k.api.Node.Store().Applied()),
		Verdicts: verdicts,
	})
}

// decide writes the verdict of a settled renewal, and remembers what helps the next one.
func (k *keeper) decide(v *tenurev1.RenewalVerdict, r *expiry.Renewal, lazy *lazySnapshot) error {
	var err error
	switch r.Verdict {
	case expiry.Renewed:
		v.Ttl = k.duration(r.TTL)
		if r.Searched {
			k.remember(r)
		}
		return nil
	case expiry.Superseded:
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED
	case expiry.Missing:
		v.Refused, err = k.api.missingReason(r.ID, lazy)
	case expiry.NotLeading, expiry.Pending:
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
	case expiry.Expiring:
		k.api.Timers.Release([]expiry.Renewal{*r})
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS
	}
	if r.Verdict == expiry.Missing {
		k.forget(r.ID)
	}
	return err
}

// remember notes where the session is, so that its next renewal needs no search and no secret.
func (k *keeper) remember(r *expiry.Renewal) {
	k.mu.Lock()
	added := k.known.add(r)
	k.mu.Unlock()
	if added {
		k.api.hints.add(r.ID, k)
	}
}

// forget notes that the session is gone.
func (k *keeper) forget(id storage.SessionID) {
	k.mu.Lock()
	k.known.remove(id)
	k.mu.Unlock()
	k.api.hints.remove(k, id)
}

// duration returns a TTL for verdicts. They are only read, so those that are equal share one.
func (k *keeper) duration(ttl time.Duration) *durationpb.Duration {
	if ttl == 0 {
		return nil
	}
	if ttl != k.ttl || k.ttlProto == nil {
		k.ttl, k.ttlProto = ttl, durationpb.New(ttl)
	}
	return k.ttlProto
}

// settleParked settles renewals that waited for the outcome of an Expire, and answers those that have one now.
func (k *keeper) settleParked() error {
	lazy := &lazySnapshot{}
	defer lazy.close(k.api)
	var verdicts []*tenurev1.RenewalVerdict
	err := k.parked.settle(func(p *parkedRenewal) error {
		v := &tenurev1.RenewalVerdict{SessionId: p.id, Number: p.number}
		verdicts = append(verdicts, v)
		return k.decide(v, &p.renewal, lazy)
	})
	if err != nil {
		return err
	}
	for len(verdicts) > 0 {
		n := min(len(verdicts), renewalsMax)
		if err := k.sendVerdicts(verdicts[:n]); err != nil {
			return err
		}
		verdicts = verdicts[n:]
	}
	return nil
}
