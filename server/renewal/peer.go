package renewal

import (
	"context"
	"crypto/sha256"
	"slices"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

// peer is another member's end of one stream, which carries the renewals of its clients.
type peer struct {
	*line
	member grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse]
	fence  func(term uint64) error
}

func newPeer(
	a *Renewer, member grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse], fence func(term uint64) error,
) *peer {
	p := &peer{member: member, fence: fence}
	p.line = newLine(a, p, core.Config{Origin: core.Member})
	return p
}

// ServePeer serves the renewals of another member's clients. fence refuses a term in which this member does not lead.
func (a *Renewer) ServePeer(
	stream grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse], fence func(term uint64) error,
) error {
	ctx, cancel := a.UntilStop(stream.Context())
	defer cancel()
	p := newPeer(a, stream, fence)
	defer p.close()
	go p.read() // It ends when gRPC ends the stream, which is right after this method returns.
	return p.serve(ctx)
}

func (p *peer) receive() ([]core.Asked, error) {
	request, err := p.member.Recv()
	if err != nil {
		return nil, err
	}
	if len(request.GetRenewals()) > core.RenewalsMax {
		return nil, reason.Invalid("renewals", "are too many")
	}
	if slices.ContainsFunc(request.GetRenewals(), tooLong) {
		return nil, reason.Invalid("renewals", "have an id or a hash that is too long")
	}
	return relayedAsked(request), p.fence(request.GetTerm())
}

// tooLong reports whether a renewal takes more memory than any that a member makes: it is kept until it has a verdict.
func tooLong(r *peerv1.Renewal) bool {
	return len(r.GetSessionId()) > len(storage.SessionID{}) || len(r.GetSecretSha256()) > sha256.Size
}

// relayedAsked returns what a stream keeps of another member's message.
func relayedAsked(request *peerv1.RenewRequest) []core.Asked {
	asked := make([]core.Asked, len(request.GetRenewals()))
	for i, r := range request.GetRenewals() {
		id, _ := storage.SessionIDFromBytes(r.GetSessionId()) // One that is none is missing.
		asked[i] = core.Asked{
			ID: id, Epoch: r.GetEpoch(), Number: r.GetNumber(), Proven: r.GetProven(), Secret: r.GetSecretSha256(),
			AuthorisedBelow: r.GetAuthorisedBelow(),
		}
	}
	return asked
}

// prove proves that this member leads. Without proof the stream ends: the other member sends what has no verdict to whoever
// leads then.
func (p *peer) prove(ctx context.Context) (core.Event, error) {
	term, err := p.api.renewalProof(ctx)
	if err != nil {
		return core.Unproved{Err: err}, nil //nolint:nilerr // The machine ends the stream with it.
	}
	return core.Proved{Term: term}, nil
}

func (p *peer) settle(_ context.Context, t core.Settle) error { return p.api.settleStream(t) }

// authorise is never called: the member that was asked decides about its clients.
func (p *peer) authorise(context.Context, []core.Asked) error { return errTask }

// send sends verdicts.
func (p *peer) send(verdicts []core.Verdict) error {
	slab := make([]peerv1.RenewalVerdict, len(verdicts))
	answer := &peerv1.RenewResponse{Verdicts: make([]*peerv1.RenewalVerdict, len(verdicts))}
	for i := range verdicts {
		of, v := &verdicts[i], &slab[i]
		v.Number, v.Refused, v.TtlMs = of.Number, of.Refused, of.TTL.Milliseconds()
		answer.Verdicts[i] = v
	}
	return p.member.Send(answer)
}

func (p *peer) rest() error { return nil }

func (p *peer) noted(*core.Effects) {}
