package transport

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// The metadata by which a call names both ends.
const (
	mdCluster     = "tenure-peer-cluster"
	mdFrom        = "tenure-peer-from"
	mdTo          = "tenure-peer-to"
	mdIncarnation = "tenure-peer-incarnation"
	mdStarts      = "tenure-peer-starts"
	mdAddress     = "tenure-peer-address"
	mdName        = "tenure-peer-name"
)

// credentials returns the metadata of a call to a member, beside what the caller gave.
func (s Self) credentials(ctx context.Context, to uint64) metadata.MD {
	md, ok := metadata.FromOutgoingContext(ctx)
	if ok {
		md = md.Copy()
	} else {
		md = metadata.MD{}
	}
	md.Set(mdCluster, hex.EncodeToString(s.ClusterID[:]))
	md.Set(mdFrom, strconv.FormatUint(s.Member.GetId(), 16))
	md.Set(mdTo, strconv.FormatUint(to, 16))
	md.Set(mdIncarnation, strconv.FormatUint(s.Member.GetIncarnation(), 16))
	md.Set(mdStarts, strconv.FormatUint(s.Member.GetStarts(), 10))
	md.Set(mdAddress, s.Member.GetPeerAddress())
	md.Set(mdName, s.Member.GetName())
	return md
}

// caller is who makes a call.
type caller struct {
	cluster                       string
	from, to, incarnation, starts uint64
	address, name                 string // empty for a program of before
}

type callerKey struct{}

// Caller returns the member that makes a call to a service of the peer address.
func Caller(ctx context.Context) (member uint64, ok bool) {
	c, ok := ctx.Value(callerKey{}).(caller)
	return c.from, ok
}

// readCaller reads a call's metadata.
func readCaller(ctx context.Context) (c caller, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	get := func(key string, base int) uint64 {
		n, parseErr := strconv.ParseUint(first(md, key), base, 64)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("%w: metadata %s is missing or no number", ErrMalformed, key)
		}
		return n
	}
	c.cluster = first(md, mdCluster)
	c.from, c.to = get(mdFrom, 16), get(mdTo, 16)
	c.incarnation, c.starts = get(mdIncarnation, 16), get(mdStarts, 10)
	if c.address = first(md, mdAddress); len(c.address) > addressBytesMax {
		c.address = ""
	}
	c.name = first(md, mdName)
	return c, err
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// gate is what every call passes: it lets those in whose caller is who it says.
type gate struct {
	t *Transport

	confirming chan struct{}      // a slot for each member that is being asked about
	claims     singleflight.Group // by start
	claiming   chan struct{}      // a slot for each start that is being asked about
}

func newGate(t *Transport) *gate {
	return &gate{t: t, confirming: make(chan struct{}, confirmationsMax), claiming: make(chan struct{}, claimsMax)}
}

// admit lets a call in or refuses it.
func (g *gate) admit(ctx context.Context) (context.Context, error) {
	c, err := readCaller(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	if err = g.t.proveCaller(ctx, c); err == nil {
		err = g.t.check(c)
	}
	if errors.Is(err, errStranger) {
		err = g.confirm(ctx, c)
	}
	if errors.Is(err, errNewStart) {
		err = g.confirmStart(ctx, c)
	}
	if err != nil {
		g.t.metrics.refuse(err)
		g.t.o.Security.tell(ctx, err)
		return nil, toStatus(err)
	}
	return context.WithValue(ctx, callerKey{}, c), nil
}

// confirm lets a caller in that is not known here if a known member vouches for it: this member may lag behind the change
// that added it.
func (g *gate) confirm(ctx context.Context, c caller) error {
	select {
	case g.confirming <- struct{}{}:
	default:
		return errStranger // It asks again.
	}
	vouched := g.t.o.Confirm(ctx, c.from)
	<-g.confirming
	if !vouched {
		return errStranger
	}
	g.t.mu.Lock()
	g.t.confirmed[c.from] = c.incarnation
	g.t.mu.Unlock()
	return g.t.check(c)
}

// Claim is what a caller says that names a later start of a member than is known here.
type Claim struct {
	// Member and Incarnation are the member's.
	Member, Incarnation uint64
	// Starts is what the caller says, Known the highest that was believed; zero if none was.
	Starts, Known uint64
	// Address is where the caller says the member can be reached; empty if it does not say.
	Address string
}

// Start returns which start the caller names, from 1.
func (c Claim) Start() uint64 { return StartOf(c.Starts) }

// KnownStart returns the last start that is known; 0 for none.
func (c Claim) KnownStart() uint64 { return StartOf(c.Known) }

// Jump returns how many starts the caller is ahead.
func (c Claim) Jump() uint64 { return c.Start() - c.KnownStart() }

// confirmStart lets a caller in that names a later start of a member if that is believed. Calls of one start wait together.
func (g *gate) confirmStart(ctx context.Context, c caller) error {
	believed, err, _ := g.claims.Do(fmt.Sprintf("%x/%x/%s", c.from, c.starts, c.address), func() (any, error) {
		select {
		case g.claiming <- struct{}{}:
		default:
			return false, nil // It asks again.
		}
		defer func() { <-g.claiming }()
		return g.t.o.ConfirmStart(ctx, Claim{
			Member: c.from, Incarnation: c.incarnation, Starts: c.starts, Known: g.t.Starts(c.from), Address: c.address,
		}), nil
	})
	if yes, ok := believed.(bool); err != nil || !ok || !yes {
		return errNewStart
	}
	g.t.mu.Lock()
	g.t.starts[c.from] = max(g.t.starts[c.from], c.starts)
	g.t.mu.Unlock()
	return g.t.check(c)
}

// check holds what a caller says of both ends against what is known. That one is in order but for a start that is not known
// yet is errNewStart.
func (t *Transport) check(c caller) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	err := t.checkKnown(c)
	if err == nil && c.starts > t.starts[c.from] {
		return errNewStart
	}
	return err
}

// checkKnown is check without the last; mu is held.
func (t *Transport) checkKnown(c caller) error {
	self := t.self.Member
	switch {
	case t.stopping || t.self.ClusterID == [16]byte{}:
		return errStarting
	case c.cluster != t.cluster:
		return fmt.Errorf("%w: member %x is of cluster %s, member %x (%q) of %s", ErrWrongCluster,
			c.from, c.cluster, self.GetId(), self.GetName(), t.cluster)
	case c.to != self.GetId():
		return fmt.Errorf("%w: the call is for member %x, here is %x (%q)", ErrWrongMember,
			c.to, self.GetId(), self.GetName())
	case t.removed[c.from]:
		return fmt.Errorf("%w: member %x", ErrRemoved, c.from)
	case c.from == self.GetId():
		return fmt.Errorf("%w: member %x (%q) is this one", ErrStaleIncarnation, c.from, self.GetName())
	}
	if p := t.peers[c.from]; p != nil {
		known := p.known()
		if known.Incarnation != 0 && known.Incarnation != c.incarnation {
			return fmt.Errorf("%w: member %x has incarnation %x, not %x", ErrStaleIncarnation, c.from, known.Incarnation, c.incarnation)
		}
		// The certificate is that of the name that the call says, so that name must be the member's.
		if t.o.Security != nil && p.recorded != "" && p.recorded != c.name {
			return fmt.Errorf("%w: member %x is %q, not %.64q", ErrNotProven, c.from, p.recorded, c.name)
		}
	}
	if known := t.starts[c.from]; Stale(c.starts, known) {
		return fmt.Errorf("%w: member %x was started again since, or elsewhere (this is start %d, start %d is known)",
			ErrStaleIncarnation, c.from, StartOf(c.starts), StartOf(known))
	}
	if p := t.peers[c.from]; p != nil && !p.introduced {
		return nil
	}
	if incarnation, confirmed := t.confirmed[c.from]; !confirmed || incarnation != c.incarnation {
		return errStranger
	}
	return nil
}

// Stale tells whether a run with a number of starts is older than the one that is known, or another one on a copy of the
// same directory: both count as many starts, and differ in what they drew.
func Stale(starts, known uint64) bool {
	return known != 0 && starts != known && starts>>startsShift <= known>>startsShift
}

// startsShift is how many bits of a number of starts are drawn at random, so that two runs on copies of one directory
// differ.
const startsShift = 16

// NextStarts returns the number for the next start, from the last one and random bits.
func NextStarts(last, random uint64) uint64 {
	return (last>>startsShift+1)<<startsShift | random&(1<<startsShift-1)
}

// StartOf returns which start a number of starts is, from 1.
func StartOf(starts uint64) uint64 { return starts >> startsShift }

// StartsOf returns the highest number of a start.
func StartsOf(start uint64) uint64 { return start<<startsShift | (1<<startsShift - 1) }

// open tells which calls anybody may make.
func open(method string) bool {
	return method == peerv1.PeerService_Probe_FullMethodName || method == peerv1.PeerService_Join_FullMethodName
}

func (g *gate) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (resp any, err error) {
	defer g.recovered(info.FullMethod, &err)
	if !open(info.FullMethod) {
		if ctx, err = g.admit(ctx); err != nil {
			return nil, err
		}
	}
	resp, err = handle(ctx, req)
	return resp, toStatus(err)
}

func (g *gate) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) (err error) {
	defer g.recovered(info.FullMethod, &err)
	ctx, err := g.admit(stream.Context())
	if err != nil {
		return err
	}
	return toStatus(handle(srv, &admitted{ServerStream: stream, ctx: ctx, t: g.t}))
}

// recovered makes an error of a panic.
func (g *gate) recovered(method string, err *error) {
	if r := recover(); r != nil {
		g.t.log.Error("call of a member panicked", zap.String("method", method), zap.Any("panic", r),
			zap.ByteString("stack", debug.Stack()))
		*err = toStatus(ErrPanicked)
	}
}

// admitted is a stream whose caller is known. What was right when the stream began need not be any more, so it is checked again
// with every message: an older run of a member that was started again is told so, and one that was removed.
type admitted struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // A stream has its context; this one says who calls.
	t   *Transport
}

// RecvMsg receives a message of a caller that is still in order.
func (s *admitted) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	c, _ := s.ctx.Value(callerKey{}).(caller)
	if err := s.t.check(c); err != nil {
		s.t.metrics.refuse(err)
		return toStatus(err)
	}
	return nil
}

// Context returns the stream's context, with the caller.
func (s *admitted) Context() context.Context { return s.ctx }
