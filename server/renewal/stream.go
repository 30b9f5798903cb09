package renewal

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
)

const (
	// hintsWaitingMax is how many hints of a stream may wait; more are dropped.
	hintsWaitingMax = 1024
	// hintsMax is how many hints an answer carries.
	hintsMax = 256
)

// keeper is the client's end of one KeepAlive stream.
type keeper struct {
	*line
	client grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	unread *unreadAlarm

	hinting sync.Mutex // guards what follows
	hints   []*tenurev1.SessionHint

	ttl      time.Duration // belongs to send, as what follows
	ttlProto *durationpb.Duration
}

func newKeeper(
	a *Renewer, client grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse],
) *keeper {
	k := &keeper{client: client, unread: newUnreadAlarm(a.PatienceWithClients())}
	k.line = newLine(a, k, core.Config{Origin: core.Client, SessionsMax: a.streamSessionsMax})
	return k
}

// KeepAlive serves one stream of renewals.
func (a *Renewer) KeepAlive(stream grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]) error {
	k := newKeeper(a, stream)
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

func (k *keeper) receive() ([]core.Asked, error) {
	request, err := k.client.Recv()
	if err != nil {
		return nil, err
	}
	if n := len(request.GetRenewals()); n > core.RenewalsMax {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the message has %d renewals; at most %d are allowed",
			n, core.RenewalsMax).With("limit", "renewals_max").With("limit_value", strconv.Itoa(core.RenewalsMax))
	}
	_, below, err := k.api.Authorised(k.client.Context())
	if err != nil {
		return nil, err
	}
	return askedRenewals(request, access.Of(k.client.Context()), below), nil
}

// authorise decides again whether the client may renew.
func (k *keeper) authorise(ctx context.Context, asked []core.Asked) error {
	again := &tenurev1.KeepAliveRequest{Renewals: make([]*tenurev1.SessionRenewal, len(asked))}
	for i := range asked {
		again.Renewals[i] = &tenurev1.SessionRenewal{SessionId: asked[i].ID.String()}
	}
	ctx, err := access.Again(ctx, again)
	if err != nil {
		return err
	}
	_, below, err := k.api.Authorised(ctx)
	if err != nil {
		return err
	}
	for i := range asked {
		asked[i].Denied, asked[i].AuthorisedBelow = access.Of(ctx).Denies(asked[i].ID.String()), below
	}
	return nil
}

// prove proves that this member leads, unless another one is known to.
func (k *keeper) prove(ctx context.Context) (core.Event, error) {
	if w, _ := k.api.Relay.Present(); w != nil && !w.Here() {
		return core.Elsewhere{}, nil
	}
	term, err := k.api.renewalProof(ctx)
	switch {
	case err == nil:
		return core.Proved{Term: term}, nil
	case k.api.Relay.Elsewhere():
		return core.Elsewhere{}, nil
	default:
		return core.Unproved{Refused: k.api.renewalRefusal(err)}, nil
	}
}

func (k *keeper) settle(_ context.Context, t core.Settle) error { return k.api.settleStream(t) }

// send sends verdicts.
func (k *keeper) send(verdicts []core.Verdict) error {
	slab := make([]tenurev1.RenewalVerdict, len(verdicts))
	answer := &tenurev1.KeepAliveResponse{
		Header:   k.api.Header(k.api.Node.Store().Applied()),
		Verdicts: make([]*tenurev1.RenewalVerdict, len(verdicts)),
	}
	for i := range verdicts {
		of, v := &verdicts[i], &slab[i]
		v.SessionId, v.Number, v.Refused, v.Ttl = of.Session, of.Number, of.Refused, k.duration(of.TTL)
		answer.Verdicts[i] = v
	}
	return k.transmit(answer)
}

// transmit sends an answer.
func (k *keeper) transmit(answer *tenurev1.KeepAliveResponse) error {
	return k.unread.during(func() error { return k.client.Send(answer) })
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

// hint keeps a hint until it can be sent. It never waits; if too many wait, it drops the hint.
func (k *keeper) hint(h *tenurev1.SessionHint) {
	k.hinting.Lock()
	if len(k.hints) < hintsWaitingMax {
		k.hints = append(k.hints, h)
	}
	k.hinting.Unlock()
	ring(k.news)
}

// rest sends the hints that wait.
func (k *keeper) rest() error {
	k.hinting.Lock()
	hints := k.hints
	k.hints = nil
	k.hinting.Unlock()
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

// noted says where the hints of sessions go.
func (k *keeper) noted(fx *core.Effects) {
	if len(fx.Forget) > 0 {
		k.api.hints.remove(k, fx.Forget...)
	}
	for _, id := range fx.Remember {
		k.api.hints.add(id, k)
	}
}
